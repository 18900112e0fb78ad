// A memory that one store hands to another.
#include <fmt/format.h>

#include "base/check.h"
#include "store/json_fields.h"
#include "store/store.h"

namespace evk {
namespace {

Status put_values(Database& db, const char* into, const ValueMap& values) {
  EVK_TRY(auto put, db.prepare(into));
  for (const auto& [key, v] : values)
    EVK_TRY_STATUS(put.bind(name_of(key.first))
                       .bind(key.second.number)
                       .bind(v.q)
                       .bind(v.n)
                       .bind(v.sum_r)
                       .bind(v.sum_r2)
                       .run());
  return {};
}

}  // namespace

bool is_record_key(std::string_view key) { return key.rfind("record.", 0) == 0; }

Status Store::put_origins(const std::vector<OriginRow>& origins) {
  EVK_TRY(auto put, db_->prepare("INSERT INTO origin VALUES(?,?,?,?,?,?)"));
  std::int64_t position = 0;
  for (const auto& o : origins) {
    EVK_TRY(const auto ancestors, put_blob(strings_to_json(o.ancestors)));
    EVK_TRY_STATUS(put.bind(o.item.number)
                       .bind(position++)
                       .bind(o.store)
                       .bind(o.there.number)
                       .bind(o.attempt ? std::optional(o.attempt->number) : std::nullopt)
                       .bind(ancestors)
                       .run());
  }
  return {};
}

Status Store::put_memory(const MemoryImage& image) {
  EVK_CHECK(is_new_);
  return transaction(*db_, [&]() -> Status {
    EVK_TRY_STATUS(set_meta("record.memory", "1"));
    for (const auto& item : image.items) EVK_TRY_STATUS(put_item(item));
    EVK_TRY_STATUS(put_values(*db_, "INSERT INTO prior VALUES(?,?,?,?,?,?)", image.priors));
    EVK_TRY_STATUS(put_values(*db_, "INSERT INTO q VALUES(?,?,?,?,?,?,0)", image.priors));
    return put_origins(image.origins);
  });
}

Status Store::retire_seeds(const std::vector<ItemId>& items) {
  return transaction(*db_, [&]() -> Status {
    EVK_TRY(auto put, db_->prepare("UPDATE item SET source='import' WHERE item_id=?"));
    for (const auto id : items) EVK_TRY_STATUS(put.bind(id.number).run());
    return {};
  });
}

Result<ValueMap> Store::priors() {
  ValueMap found;
  if (schema_ < 2) return found;
  EVK_TRY(auto get,
          db_->prepare("SELECT stage, item_id, q, n, sum_r, sum_r2 FROM prior ORDER BY stage, item_id"));
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    EVK_TRY(const Stage stage, stage_named(get.text(0)));
    found[{stage, ItemId{get.integer(1)}}] = {get.real(2), get.integer(3), get.real(4), get.real(5), 0};
  }
}

Result<std::vector<OriginRow>> Store::origins() {
  std::vector<OriginRow> found;
  if (schema_ < 2) return found;
  EVK_TRY(
      auto get,
      db_->prepare("SELECT item_id, store, item, attempt, ancestors FROM origin ORDER BY item_id, position"));
  while (true) {
    EVK_TRY(const bool row, get.step());
    if (!row) return found;
    OriginRow o;
    o.item = {get.integer(0)};
    o.store = get.text(1);
    o.there = {get.integer(2)};
    if (const auto attempt = get.maybe_integer(3)) o.attempt = AttemptId{*attempt};
    EVK_TRY(const auto ancestors, blob(get.text(4)));
    EVK_TRY(o.ancestors, strings_from_json(ancestors));
    found.push_back(std::move(o));
  }
}

}  // namespace evk
