#include "cpu/dict_values.hpp"

#include <cstdint>

namespace nearfar {

#if PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)

namespace {

// The head of a dict's table, followed by 2^log2_index_bytes bytes of hash index and the entries in
// the order of insertion: hash, key, value; or key, value where every key is a string.
struct TableHead {
  Py_ssize_t references;
  uint8_t log2_size;
  uint8_t log2_index_bytes;
  uint8_t kind;
  uint32_t version;
  Py_ssize_t usable;
  Py_ssize_t n_entries;
};
constexpr uint8_t kGeneral = 0, kStrings = 1;
constexpr int kProbeItems = 5;

const TableHead* table_of(PyObject* dict) {
  return reinterpret_cast<const TableHead*>(reinterpret_cast<PyDictObject*>(dict)->ma_keys);
}

// A dict of as many items as the smallest table takes; with strings as keys or without.
PyObject* probe(bool strings) {
  PyObject* dict = PyDict_New();
  for (long i = 0; dict != nullptr && i < kProbeItems; ++i) {
    PyObject* key = strings ? PyUnicode_FromFormat("key %ld", i) : PyLong_FromLong(i);
    PyObject* value = PyLong_FromLong(100'000 + i);
    if (key == nullptr || value == nullptr || PyDict_SetItem(dict, key, value) != 0) Py_CLEAR(dict);
    Py_XDECREF(key);
    Py_XDECREF(value);
  }
  return dict;
}

bool head_is(const TableHead* head, uint8_t kind) {
  return head->log2_size == 3 && head->log2_index_bytes == 3 && head->kind == kind &&
         head->n_entries == kProbeItems;
}

}  // namespace

std::optional<ValueSlots> ValueSlots::find(PyObject* dict) {
  if (reinterpret_cast<PyDictObject*>(dict)->ma_values != nullptr) return std::nullopt;
  const TableHead* head = table_of(dict);
  if (head->kind != kGeneral && head->kind != kStrings) return std::nullopt;
  const int words = head->kind == kGeneral ? 3 : 2;
  auto* index = reinterpret_cast<const char*>(head + 1);
  auto* entries =
      reinterpret_cast<PyObject* const*>(index + (std::size_t{1} << head->log2_index_bytes));
  return ValueSlots(const_cast<PyObject**>(entries) + words - 1, words);
}

bool ValueSlots::layout_is_known() {
  for (const bool strings : {false, true}) {
    PyObject* dict = probe(strings);
    if (dict == nullptr) {
      PyErr_Clear();
      return false;
    }
    // The head is compared before anything behind it is read.
    bool same = head_is(table_of(dict), strings ? kStrings : kGeneral);
    auto slots = same ? find(dict) : std::nullopt;
    same = same && slots.has_value();
    PyObject *key, *value;
    for (Py_ssize_t at = 0; same && PyDict_Next(dict, &at, &key, &value);)
      same = slots->next() == value;
    Py_DECREF(dict);
    if (!same) return false;
  }
  return true;
}

std::optional<ValueSlots> ValueSlots::of(PyObject* dict) {
  static const bool known = layout_is_known();
  return known ? find(dict) : std::nullopt;
}

#else

std::optional<ValueSlots> ValueSlots::of(PyObject*) {
  return std::nullopt;
}

#endif

}  // namespace nearfar
