#include "generate/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>

#include "base/check.h"

namespace evk {
namespace {

constexpr std::int64_t kDayS = 86'400;

struct Receiver {
  HttpResponse* response;
  std::size_t bytes_max;
};

std::size_t on_body(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& to = *static_cast<Receiver*>(user);
  if (to.response->body.size() + size * count > to.bytes_max) {
    to.response->trouble = HttpTrouble::kTooLarge;
    return 0;
  }
  to.response->body.append(bytes, size * count);
  return size * count;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.back() == '\r' || text.back() == '\n' || text.back() == ' '))
    text.remove_suffix(1);
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

std::size_t on_header(char* bytes, std::size_t size, std::size_t count, void* user) {
  auto& response = *static_cast<Receiver*>(user)->response;
  const std::string_view line(bytes, size * count);
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return size * count;
  std::string name(line.substr(0, colon));
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  const auto value = trimmed(line.substr(colon + 1));
  if (name == "location") response.location = value.substr(0, 300);
  std::int64_t seconds = 0;
  const auto [end, code] = std::from_chars(value.data(), value.data() + value.size(), seconds);
  if (name == "retry-after" && code == std::errc() && end == value.data() + value.size() && seconds >= 0)
    response.wait_s = std::min(seconds, kDayS);
  return size * count;
}

HttpTrouble trouble_of(CURLcode code) {
  switch (code) {
    case CURLE_OK:
      return HttpTrouble::kNone;
    case CURLE_OPERATION_TIMEDOUT:
      return HttpTrouble::kStalled;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return HttpTrouble::kTls;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return HttpTrouble::kBadUrl;
    default:
      return HttpTrouble::kBroken;
  }
}

struct CurlGlobal {
  CurlGlobal() { EVK_CHECK(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK); }
};

}  // namespace

HttpResponse http_send(const HttpRequest& request) {
  static const CurlGlobal global;
  HttpResponse response;
  Receiver receiver{&response, request.bytes_max};
  const std::unique_ptr<CURL, void (*)(CURL*)> curl(curl_easy_init(), curl_easy_cleanup);
  EVK_CHECK(curl != nullptr);
  curl_slist* list = nullptr;
  // No "Expect: 100-continue": some servers never answer it.
  list = curl_slist_append(list, "Expect:");
  for (const auto& header : request.headers) list = curl_slist_append(list, header.c_str());
  const std::unique_ptr<curl_slist, void (*)(curl_slist*)> headers(list, curl_slist_free_all);
  char why[CURL_ERROR_SIZE] = "";
  CURL* c = curl.get();
  curl_easy_setopt(c, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(c, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, static_cast<long>(request.connect_s));
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(c, CURLOPT_LOW_SPEED_TIME, static_cast<long>(request.stall_s));
  curl_easy_setopt(c, CURLOPT_TIMEOUT, static_cast<long>(request.deadline_s));
  curl_easy_setopt(c, CURLOPT_ERRORBUFFER, why);
  curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(c, CURLOPT_WRITEDATA, &receiver);
  curl_easy_setopt(c, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(c, CURLOPT_HEADERDATA, &receiver);
  if (!request.ca_file.empty()) curl_easy_setopt(c, CURLOPT_CAINFO, request.ca_file.c_str());
  if (!request.body.empty()) {
    curl_easy_setopt(c, CURLOPT_POST, 1L);
    curl_easy_setopt(c, CURLOPT_POSTFIELDS, request.body.c_str());
    curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
  }
  const CURLcode code = curl_easy_perform(c);
  long status = 0;
  curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
  response.status = static_cast<int>(status);
  if (response.trouble == HttpTrouble::kNone) response.trouble = trouble_of(code);
  if (code != CURLE_OK) response.why = why[0] != '\0' ? why : curl_easy_strerror(code);
  return response;
}

}  // namespace evk
