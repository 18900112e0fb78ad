// One HTTP request over libcurl: no redirects, bounded answers, a timer for silence. Proxy variables
// (https_proxy, no_proxy, ...) hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace evk {

struct HttpRequest {
  std::string url;                   // http or https
  std::vector<std::string> headers;  // "name: value"
  std::string body;                  // sent by POST; a GET if empty
  std::string ca_file;               // PEM; empty: the system's
  int connect_s = 30;
  int stall_s = 300;      // so long without a byte ends the request
  int deadline_s = 3600;  // for the whole request
  std::size_t bytes_max = 16u << 20;
};

enum class HttpTrouble {
  kNone,      // a whole response came; look at its status
  kTooLarge,  // more than bytes_max
  kStalled,   // silence, or the deadline
  kBroken,    // could not connect, or the connection ended in the middle
  kTls,       // certificate or handshake
  kBadUrl,
};

struct HttpResponse {
  HttpTrouble trouble = HttpTrouble::kNone;
  std::string why;  // libcurl's words, if there is trouble
  int status = 0;
  std::string body;                    // what came, also of a broken response
  std::string location;                // of a redirect
  std::optional<std::int64_t> wait_s;  // Retry-After in seconds, at most a day; unset for a date
};

// Sends and waits. Safe to call from several threads.
HttpResponse http_send(const HttpRequest& request);

}  // namespace evk
