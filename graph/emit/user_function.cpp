#include "graph/emit/user_function.hpp"

#include <algorithm>
#include <cctype>

#include "graph/emit/element_text.hpp"
#include "graph/emit/gluon_slot.hpp"
#include "graph/emit/in_place.hpp"
#include "graph/emit/stored_twice.hpp"
#include "graph/index.hpp"

namespace twill::emit {
namespace {

using meaning::Index;
using meaning::IndexComparison;
using program::Refusal;

constexpr std::size_t kMostText = 4'000;  // of an index, in characters

/// Without the parentheses around all of it.
std::string bare(std::string text) {
  return text.starts_with('(') ? text.substr(1, text.size() - 2) : text;
}

std::string text_of(const Plan& plan, const Index& index, const ElementNames* names = nullptr);

/// Of numbers that are gathered, perhaps with others where some are not.
std::string gathered_text(const Plan& plan, const Index& index, const ElementNames* names) {
  const Index& load = index.kind == Index::chosen ? index.of[0] : index;
  if (load.kind != Index::gathered)
    throw Refusal{"function", "it chooses between numbers that it does not load"};
  std::string text = plan.parameter_name[at(static_cast<int>(load.value))];
  if (text.empty()) throw Refusal{"function", "it gathers numbers through a descriptor"};
  for (const Index& one : load.of) {
    const std::string where = text_of(plan, one, names);
    if (where != "0") text += " + " + where;
  }
  std::string mask;
  for (std::size_t k = 2; k < index.of.size() && index.kind == Index::chosen; ++k)
    mask += (mask.empty() ? "" : " & ") + text_of(plan, index.of[k], names);
  if (!mask.empty()) text += ", mask=" + mask + ", other=" + text_of(plan, index.of[1], names);
  return "gl.load(" + text + ")";
}

/// An index as Python, of one iteration or of none; of an element's place with names for what it
/// depends on.
std::string text_of(const Plan& plan, const Index& index, const ElementNames* names) {
  const auto both = [&](const char* sign) {
    return "(" + text_of(plan, index.of[0], names) + sign + text_of(plan, index.of[1], names) + ")";
  };
  const auto call = [&](const char* name) {
    return std::string(name) + "(" + text_of(plan, index.of[0], names) + ", " +
           text_of(plan, index.of[1], names) + ")";
  };
  std::string text;
  for (const auto& [name, place] : plan.places)
    if (names != nullptr && place == index) return name;
  if (names != nullptr)
    for (const auto& [known, name] : names->gathered)
      if (known == index) return name;
  switch (index.kind) {
    case Index::number: return std::to_string(index.value);
    case Index::argument:
      text = plan.parameter_name[at(static_cast<int>(index.value))];
      if (text.empty())
        throw Refusal{"function", "it uses a descriptor's shape or stride as a number"};
      return text;
    case Index::program: return "gl.program_id(" + std::to_string(index.value) + ")";
    case Index::programs: return "gl.num_programs(" + std::to_string(index.value) + ")";
    case Index::tile: return "tile";
    case Index::loaded: {
      const meaning::LoadedNumber& one =
          plan.user->loaded.at(static_cast<std::size_t>(index.value));
      const std::string& from = plan.parameter_name[at(one.parameter)];
      if (from.empty()) throw Refusal{"function", "it loads a number through a descriptor"};
      const std::string where = bare(text_of(plan, simple(one.place)));
      text = "gl.load(" + from + (where == "0" ? "" : " + " + where) + ")";
      break;
    }
    case Index::iteration:
      if (names == nullptr || names->iteration.empty())
        throw Refusal{"function", "a number of the loop is used outside it"};
      return names->iteration.find(' ') == std::string::npos ? names->iteration
                                                             : "(" + names->iteration + ")";
    case Index::row:
    case Index::column:
      if (names == nullptr) throw Refusal{"function", "an element's place is used without one"};
      return index.kind == Index::row ? names->row : names->column;
    case Index::wide:
    case Index::narrow:
      return "gl.cast(" + bare(text_of(plan, index.of[0], names)) +
             (index.kind == Index::wide ? ", gl.int64)" : ", gl.int32)");
    case Index::gathered:
    case Index::chosen: text = gathered_text(plan, index, names); break;
    case Index::compared:
      text = both(sign_of(static_cast<IndexComparison::How>(index.value)));
      break;
    case Index::add: text = both(" + "); break;
    case Index::sub: text = both(" - "); break;
    case Index::mul: text = both(" * "); break;
    case Index::quotient: text = both(" // "); break;
    case Index::remainder: text = both(" % "); break;
    case Index::least: text = call("gl.minimum"); break;
    case Index::largest: text = call("gl.maximum"); break;
    case Index::bit_and: text = both(" & "); break;
    case Index::shift_right: text = both(" >> "); break;
  }
  if (text.size() > kMostText) throw Refusal{"function", "its arithmetic of places is too long"};
  return text;
}

const char* kDimension[] = {"_row", "_column"};

/// Is it made of a number of 64 bits that the function loads?
bool loads_wide(const meaning::UserKernel& user, const Index& index) {
  for (std::size_t k = 0; k < user.loaded.size(); ++k)
    if (user.loaded[k].bits != 32 && depends_on(index, Index::loaded, static_cast<std::int64_t>(k)))
      return true;
  return false;
}

void refuse_wide(const Plan& plan, const Index& index, const std::string& what) {
  if (loads_wide(*plan.user, index))
    throw Refusal{"function", what +
                                  " is made of a number of 64 bits that it loads: not emitted "
                                  "yet"};
}

/// Iterations of the text's loop, where the function has a multiple of what is one of them.
Index trips_of(const Plan& plan) {
  const int copies = plan.user->unrolled;
  if (copies == 1) return plan.user->trips;
  return Index::make(Index::quotient, plan.user->trips, Index::whole(copies));
}

/// Without types: integers of Python have all bits, and its % is never negative here.
Index untyped(Index index) {
  constexpr std::int64_t kHalf = std::int64_t{1} << 31;
  for (Index& one : index.of) one = untyped(std::move(one));
  if (index.kind == Index::wide) return Index(index.of[0]);
  if (index.kind != Index::narrow) return index;
  return Index::make(Index::sub,
                     Index::make(Index::remainder,
                                 Index::make(Index::add, Index(index.of[0]), Index::whole(kHalf)),
                                 Index::whole(2 * kHalf)),
                     Index::whole(kHalf));
}

/// As text of the host's Python, whose words for the least and the largest are its own.
std::string on_host(const Plan& plan, const Index& index) {
  std::string text = bare(text_of(plan, simple(untyped(index))));
  for (const std::string word : {"gl.minimum(", "gl.maximum("})
    for (std::size_t k = text.find(word); k != text.npos; k = text.find(word))
      text.replace(k, word.size(), word.substr(3, 3) + "(");
  return text;
}

std::string in_one(const Plan& plan) {
  const int copies = plan.user->unrolled;
  return copies == 1 ? "" : ", " + std::to_string(copies) + " of the function's in one";
}

}  // namespace

const char* sign_of(IndexComparison::How how) {
  constexpr const char* kSigns[] = {" < ", " <= ", " > ", " >= ", " == ", " != "};
  return kSigns[how];
}

bool loaded_earlier(const meaning::UserKernel& user, int parameter) {
  for (const meaning::EarlierLoop& one : user.earlier) {
    const auto from = [&](const auto& where) { return where.parameter == parameter; };
    if (std::any_of(one.kernel.places.begin(), one.kernel.places.end(), from) ||
        std::any_of(one.kernel.loaded.begin(), one.kernel.loaded.end(), from) ||
        loaded_earlier(one.kernel, parameter))
      return true;
  }
  return false;
}

Index simple(Index index) {
  for (Index& one : index.of) one = simple(std::move(one));
  const auto is = [&](int k, std::int64_t x) {
    const Index& one =
        index.of[at(k)].kind == Index::wide ? index.of[at(k)].of[0] : index.of[at(k)];
    return one.kind == Index::number && one.value == x;
  };
  switch (index.kind) {
    case Index::add:
      if (is(0, 0)) return Index(index.of[1]);
      if (is(1, 0)) return Index(index.of[0]);
      break;
    case Index::sub:
      if (is(1, 0)) return Index(index.of[0]);
      if (index.of[0].kind == Index::number && index.of[1].kind == Index::number)
        return Index::whole(index.of[0].value - index.of[1].value);
      break;
    case Index::mul:
      if (is(0, 0) || is(1, 0)) return Index::whole(0);
      if (is(0, 1)) return Index(index.of[1]);
      if (is(1, 1)) return Index(index.of[0]);
      break;
    case Index::quotient:
      if (is(1, 1)) return Index(index.of[0]);
      break;
    default: break;
  }
  return index;
}

std::string number_text_of(const Plan& plan, const Index& index) {
  return bare(text_of(plan, simple(index)));
}

Index in_iteration(const Index& index, const std::string& iteration) {
  const bool number =
      !iteration.empty() && std::all_of(iteration.begin(), iteration.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
  return simple(number ? at_iteration(index, std::stoll(iteration)) : index);
}

std::string element_text(const Plan& plan, const Index& index, const ElementNames& names) {
  return text_of(plan, in_iteration(index, names.iteration), &names);
}

namespace {

/// The first op that loads or stores a tensor's tiles. (The tensor of an unknown place has no name
/// that its user knows.)
std::string mover(const meaning::Meaning& meaning, int tensor) {
  for (const meaning::Value& value : meaning.values)
    if (value.tensor == tensor) return value.id;
  return meaning.tensors[at(tensor)].name;
}

}  // namespace

std::variant<Axes, Refusal> user_tensors(const meaning::Meaning& meaning,
                                         const meaning::UserKernel& user) {
  Axes axes;
  axes.tensor_of.assign(meaning.tensors.size(), -1);
  axes.part_of.assign(meaning.tensors.size(), 0);
  for (const bool output : {false, true})
    for (int t = 0; t < static_cast<int>(meaning.tensors.size()); ++t) {
      if (meaning.is_output(t) != output) continue;
      const meaning::Tensor& tensor = meaning.tensors[at(t)];
      const meaning::Place& place = user.places[at(t)];
      if (place.earlier >= 0 || place.handed) continue;
      if (place.parameter < 0)
        return Refusal{"tensors", "where " + mover(meaning, t) +
                                      " finds its tiles is not made of arguments, the program's "
                                      "place and the iteration alone"};
      const bool real = tensor.type == "f32" || tensor.type == "f16" || tensor.type == "bf16";
      // (A number: plan_check.cpp.)
      if (place.adds &&
          (place.added || tensor.shape.empty() ? !real && tensor.type != "i32"
                                               : tensor.shape.size() != 2 || tensor.type == "bf16"))
        return Refusal{"op", "tiles of " + tensor.type + " are added to what is in memory (" +
                                 tensor.name + (place.added ? "" : ", in bulk") +
                                 "): not emitted yet"};
      // (A number lies somewhere, too.)
      if (!place.added && place.begin.size() != std::max<std::size_t>(tensor.shape.size(), 1))
        return Refusal{"tensors", tensor.name + " has tiles of another rank than its descriptor"};
      int host = -1;
      for (std::size_t h = 0; h < axes.tensors.size(); ++h)
        if (user.places[at(axes.tensors[h].parts.front())].parameter == place.parameter)
          host = static_cast<int>(h);
      if (host < 0) {
        host = static_cast<int>(axes.tensors.size());
        HostTensor one;
        one.name = user.parameters[at(place.parameter)].name;
        for (const char* const end : {"_desc", "_ptr"})
          if (one.name.ends_with(end)) one.name.resize(one.name.size() - std::string(end).size());
        one.axes.assign(tensor.shape.size(), 0);
        one.type = tensor.type;
        one.output = output;
        one.pointer = user.parameters[at(place.parameter)].kind == meaning::Parameter::pointer;
        axes.tensors.push_back(std::move(one));
      }
      HostTensor& one = axes.tensors[at(host)];
      if (one.pointer && !one.parts.empty() && one.type != tensor.type)
        return Refusal{"tensors", "elements of several types are moved through argument " +
                                      user.parameters[at(place.parameter)].name};
      if (!one.pointer && !one.parts.empty() &&
          meaning.tensors[at(one.parts.front())].shape != tensor.shape)
        return Refusal{"tensors", "tiles of several shapes are moved through argument " +
                                      user.parameters[at(place.parameter)].name};
      if (output)
        for (const meaning::LoadedNumber& number : user.loaded)
          if (number.parameter == place.parameter)
            return Refusal{"tensors", "argument " + user.parameters[at(place.parameter)].name +
                                          " is stored to, and an integer that all slots load is "
                                          "behind it"};
      // (Those that are loaded come first.)
      for (const int other : one.parts)
        if (output && !meaning.is_output(other) && !never_met_where(meaning, user, other, t) &&
            !loaded_for_its_store(meaning, user, other, t))
          return Refusal{"tensors", "argument " + user.parameters[at(place.parameter)].name +
                                        " is loaded from and stored to"};
      // (Of several tiles the slots may be at different ones.)
      for (const int other : one.parts)
        if (output && user.around && one.pointer && meaning.is_output(other))
          return Refusal{"tensors", "argument " + user.parameters[at(place.parameter)].name +
                                        " is stored to at several places (" +
                                        mover(meaning, other) + ", " + mover(meaning, t) +
                                        ") in a loop over tiles"};
      for (const int other : one.parts)
        if (output && meaning.is_output(other) && !stored_apart(meaning, user, other, t))
          return Refusal{"tensors", "argument " + user.parameters[at(place.parameter)].name +
                                        " is stored to at places that may meet (" +
                                        mover(meaning, other) + ", " + mover(meaning, t) +
                                        "), and slots would store in any order"};
      axes.tensor_of[at(t)] = host;
      axes.part_of[at(t)] = static_cast<int>(one.parts.size());
      one.parts.push_back(t);
      if (output && loaded_earlier(user, place.parameter))
        return Refusal{"tensors", "argument " + user.parameters[at(place.parameter)].name +
                                      " is stored to and loaded from by a loop before, which slots "
                                      "repeat at any time"};
    }
  return axes;
}

std::vector<UserCoordinate> user_coordinates(const Plan& plan, int tensor) {
  std::vector<UserCoordinate> all;
  const meaning::Place& place = plan.user->places[at(tensor)];
  for (std::size_t d = 0; d < place.begin.size(); ++d) {
    const auto step = sum_of(place.begin[d]).per_iteration();
    UserCoordinate one;
    if (!step) {
      if (plan.tiles())
        throw Refusal{"tensors", "tiles of " + plan.meaning->tensors[at(tensor)].name +
                                     " do not follow each other by a number"};
      one.whole = place.begin[d];
      all.push_back(std::move(one));
      continue;
    }
    one.step = *step;
    const Index begin = simple(at_iteration(place.begin[d], 0));
    if (begin.kind == Index::number)
      one.number = std::to_string(begin.value);
    else
      one.variable = plan.tensor_name[at(tensor)] + kDimension[d];
    all.push_back(std::move(one));
  }
  return all;
}

std::vector<KernelNumber> user_numbers(const Plan& plan) {
  std::vector<KernelNumber> all;
  refuse_wide(plan, plan.user->trips, "its number of iterations");
  const Index trips = trips_of(plan);
  for (std::size_t t = 0; t < plan.tensor_name.size(); ++t)
    for (const Index& one : plan.user->places[t].begin)
      if (plan.user->parameters[at(plan.user->places[t].parameter)].kind !=
          meaning::Parameter::pointer)
        refuse_wide(plan, one, "where a tile lies");
  all.push_back({"n", "gl.maximum(" + bare(text_of(plan, simple(trips))) + ", 0)",
                 "  # iterations of the loop" + in_one(plan)});
  for (std::size_t c = 0; c < plan.constant.size(); ++c)
    if (plan.user->numbers[c].kind != Index::argument)
      all.push_back({plan.constant[c], bare(text_of(plan, simple(plan.user->numbers[c]))), ""});
  for (const auto& [name, place] : plan.places)
    all.push_back({name, bare(text_of(plan, place)), ""});
  bool said = false;
  for (int t = 0; t < static_cast<int>(plan.tensor_name.size()); ++t) {
    const std::vector<UserCoordinate> where = user_coordinates(plan, t);
    for (std::size_t d = 0; d < where.size(); ++d) {
      if (where[d].variable.empty()) continue;
      all.push_back(
          {where[d].variable,
           bare(text_of(plan, simple(at_iteration(plan.user->places[at(t)].begin[d], 0)))),
           said ? "" : "  # where the first tiles lie"});
      said = true;
    }
  }
  return all;
}

std::string user_kernel_head(const Plan& plan, const std::string& bodies) {
  std::string list;
  for (const std::string& one : plan.parameter_name)
    if (!one.empty()) list += (list.empty() ? "" : ", ") + one;
  if (!plan.branches_on_trips())
    list += std::string(list.empty() ? "" : ", ") + "TRIPS: gl.constexpr";
  return "def kernel(" + list + "):\n" + user_kernel_numbers(plan, bodies, true);
}

std::string user_kernel_numbers(const Plan& plan, const std::string& bodies, bool returns) {
  std::string text;
  if (plan.tiles()) return text;
  for (const meaning::IndexComparison& one :
       returns ? plan.user->returns : std::vector<meaning::IndexComparison>{}) {
    refuse_wide(plan, one.a, "where it returns at once");
    refuse_wide(plan, one.b, "where it returns at once");
    text += "    if " + text_of(plan, simple(one.a)) + sign_of(one.how) +
            text_of(plan, simple(one.b)) + ":  # as the function does\n        return\n";
  }
  // (Masks of tiles by pointers say their numbers anew.)
  for (const auto& [name, value, comment] : user_numbers(plan))
    if (!plan.by_elements() || name == "n" || mentions(bodies, name))
      text += "    " + name + " = " + value + comment + "\n";
  return text;
}

std::string user_tile_loop(const Plan& plan, const std::string& body) {
  const meaning::TileLoop& around = *plan.user->around;
  for (const Index& one : {around.first, around.end, around.step})
    refuse_wide(plan, one, "a bound of its loop over tiles");
  const auto text = [&](const Index& one) { return bare(text_of(plan, simple(one))); };
  return tile_loop(text(around.first) + ", " + text(around.end) + ", " + text(around.step),
                   user_numbers(plan), body);
}

std::string user_launcher(const std::vector<const Plan*>& plans) {
  const Plan& plan = *plans.front();
  // Of a parameter the tiles that bulk copies move there, in whichever loop.
  const auto block_of = [&](std::size_t k) -> std::string {
    for (const Plan* const one : plans)
      for (std::size_t h = 0; h < one->host_name.size(); ++h) {
        const HostTensor& host = one->axes.tensors[h];
        const auto& shape = one->meaning->tensors[at(host.parts.front())].shape;
        if (one->parameter_name[k] != one->host_name[h] + "_desc" || host.pointer ||
            shape.size() != 2)
          continue;
        return "[" + std::to_string(shape[0]) + ", " + std::to_string(shape[1]) + "], " +
               gluon_type(host.type);
      }
    return "";
  };
  std::string list, passed, blocks;
  for (std::size_t k = 0; k < plan.parameter_name.size(); ++k) {
    const std::string& name = plan.parameter_name[k];
    if (name.empty()) continue;
    list += (list.empty() ? "" : ", ") + name;
    const std::string block = block_of(k), quoted = "\"" + name + "\"";
    passed += (block.empty() ? name : "descriptor(" + name + ", " + quoted + ")") + ", ";
    if (!block.empty()) blocks += (blocks.empty() ? "" : ", ") + quoted + ": (" + block + ")";
  }
  std::string trips;
  if (!plan.branches_on_trips()) {
    const int copies = plan.user->unrolled;
    const std::string whole = on_host(plan, plan.user->trips);
    if (copies > 1)
      trips = "            if max(" + whole + ", 0) % " + std::to_string(copies) +
              ":\n                raise ValueError(f\"{" + whole +
              "} iterations: must be a multiple of " + std::to_string(copies) +
              ", as many are one here\")\n";
    trips += "            n = max(" + on_host(plan, trips_of(plan)) +
             ", 0)  # iterations of the loop" + in_one(plan) + "\n";
    passed += "n if n < DEPTH else -1, ";
  }
  // (Of tiles that are stored to where they were loaded.)
  for (const Plan* const one : plans)
    for (const IndexComparison& asked : asked_of_arguments(*one->meaning, *one->user)) {
      const std::string said = on_host(plan, asked.a) + sign_of(asked.how) + on_host(plan, asked.b);
      trips += "            if not " + said + ":  # a tile would be loaded before it is stored\n" +
               "                raise ValueError(\"must be: " + said + "\")\n";
    }
  return "\n\nBLOCKS = {" + blocks +
         "}  # tiles of the bulk copies\nWARPS = " + std::to_string(plan.launch.first.warps) +
         "  # of the default partition\nCAPABILITY = " +
         (plan.legal.target == Target::hopper ? "9" : "10") +
         "\n\n\ndef descriptor(given, name):\n"
         "    \"\"\"Of the same tensor, with the tile of the bulk copies here.\"\"\"\n"
         "    block, kind = BLOCKS[name]\n"
         "    return TensorDescriptor(given.base, given.shape, given.strides, block, "
         "gl.NVMMASharedLayout.get_default_for(block, kind))\n"
         "\n\nclass UserKernel:\n"
         "    \"\"\"Called as the function that it stands for: " +
         plan.function +
         "[grid](arguments), without constexpr ones: those are\n"
         "    what the module was compiled with.\"\"\"\n\n"
         "    def __getitem__(self, grid):\n"
         "        def launch(" +
         list + "):\n" + trips + "            return kernel[grid](" + passed +
         "num_warps=WARPS)\n"
         "        return launch\n\n\n" +
         plan.function +
         " = UserKernel()\n\n\nif __name__ == \"__main__\":  # the module knows no inputs to try "
         "it on\n"
         "    print(\"import " +
         plan.function + " from this file and call it as before: " + plan.function + "[grid](" +
         list + ")\")\n";
}

}  // namespace twill::emit
