// What attempts cost, beside the attempts themselves: costs need not repeat when a campaign does.
#include "store/json_fields.h"
#include "store/store.h"

namespace evk {

Status Store::put_ledger(const Attempt& a) {
  EVK_TRY(auto put, db_->prepare("INSERT INTO ledger VALUES(?,?,?,?)"));
  return put.bind(a.id.number).bind(a.answer.calls).bind(a.answer.cached_tokens).bind(a.answer.usd).run();
}

Result<std::vector<LedgerRow>> Store::ledger() {
  // A store of an older schema that is only read has no such table.
  const bool kept = schema_ >= 3;
  EVK_TRY(auto get,
          db_->prepare(std::string("SELECT a.attempt_id, a.task_id, a.stage, a.model, a.prompt_tokens, "
                                   "a.answer_tokens, ") +
                       (kept ? "l.calls, l.cached_tokens, l.usd" : "0, 0, NULL") +
                       ", total(CASE c.name WHEN 'generate' THEN c.ms END), "
                       "total(CASE c.name WHEN 'verify' THEN c.ms END), total(c.ms) FROM attempt a " +
                       (kept ? "LEFT JOIN ledger l USING(attempt_id) " : "") +
                       "LEFT JOIN clock c USING(attempt_id) GROUP BY a.attempt_id ORDER BY a.attempt_id"));
  std::vector<LedgerRow> found;
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    LedgerRow r;
    r.attempt = {get.integer(0)};
    r.task = {get.text(1)};
    EVK_TRY(r.stage, stage_named(get.text(2)));
    r.model = get.text(3);
    r.prompt_tokens = get.integer(4), r.answer_tokens = get.integer(5);
    r.calls = get.integer(6), r.cached_tokens = get.integer(7), r.usd = get.maybe_real(8);
    r.generate_ms = get.real(9), r.verify_ms = get.real(10), r.wall_ms = get.real(11);
    found.push_back(std::move(r));
  }
}

}  // namespace evk
