// Selects the level once, among those that were compiled and that the processor supports.
#include "cpu/instructions/isa.hpp"

#include <cstdlib>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "cpu/bindings/bindings.hpp"

namespace nearfar {
namespace {

constexpr const char* kNames[] = {"baseline", "v2", "v3", "v4"};

#define NEARFAR_LISTED(level) Isa::level,
constexpr Isa kCompiled[] = {NEARFAR_FOR_EACH_ISA(NEARFAR_LISTED)};
#undef NEARFAR_LISTED

std::string name(Isa level) {
  return kNames[static_cast<int>(level) - 1];
}

// Compiled levels that this processor supports.
std::vector<Isa> usable() {
  std::vector<Isa> levels;
  for (const Isa level : kCompiled)
    if (level <= processor_level()) levels.push_back(level);
  return levels;
}

std::string listed(const std::vector<Isa>& levels) {
  std::string text;
  for (const Isa level : levels) text += (text.empty() ? "" : ", ") + name(level);
  return text;
}

Isa pick() {
  const std::vector<Isa> levels = usable();
  if (levels.empty())
    throw std::runtime_error("this processor has level " + name(processor_level()) +
                             " of x86-64 and nearfar was compiled for " +
                             listed({std::begin(kCompiled), std::end(kCompiled)}) +
                             ": build nearfar on this machine (v2 is the least)");
  const char* const asked = std::getenv("NEARFAR_CPU_LEVEL");
  if (asked == nullptr || *asked == '\0') return levels.back();
  for (const Isa level : levels)
    if (name(level) == asked) return level;
  throw std::runtime_error("NEARFAR_CPU_LEVEL=" + std::string(asked) +
                           " was not compiled or is not of this processor, expected one of " +
                           listed(levels));
}

}  // namespace

Isa isa() {
  static const Isa level = pick();
  return level;
}

NEARFAR_BIND(m) {
  isa();
  m.def("isa", [] { return name(isa()); });
  m.def("processor_level", [] { return name(processor_level()); });
  m.def("isa_levels", [] {
    nb::list names;
    for (const Isa level : usable()) names.append(name(level).c_str());
    return nb::typed<nb::list, nb::str>(std::move(names));
  });
}

}  // namespace nearfar
