// The kind of a JSON file, without reading more of it than that takes.
#include "graph/io/json_reader.hpp"

namespace twill {
namespace {

using Json = nlohmann::ordered_json;

/// Stops at the root's "format".
class FormatFinder : public nlohmann::json_sax<Json> {
 public:
  std::string format;

  bool null() override { return other(); }
  bool boolean(bool) override { return other(); }
  bool number_integer(number_integer_t) override { return other(); }
  bool number_unsigned(number_unsigned_t) override { return other(); }
  bool number_float(number_float_t, const string_t&) override { return other(); }
  bool string(string_t& value) override {
    if (wanted_) format = value;
    return other();
  }
  bool binary(binary_t&) override { return other(); }
  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    wanted_ = depth_ == 1 && name == "format";
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool other() const { return depth_ > 0 && !wanted_; }  // a root that is no object has none
  bool open() {
    const bool go_on = !wanted_;
    ++depth_;
    return go_on;
  }
  bool close() {
    --depth_;
    return true;
  }

  int depth_ = 0;
  bool wanted_ = false;  // the value that follows
};

}  // namespace

std::string json_format(std::string_view text) {
  FormatFinder finder;
  Json::sax_parse(text.begin(), text.end(), &finder, Json::input_format_t::json, false);
  return finder.format;
}

}  // namespace twill
