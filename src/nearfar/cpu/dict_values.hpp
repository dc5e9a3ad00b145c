// Every value of a dict replaced in the dict's own order, without looking one key up.
//
// A distance dict has the keys of its graph. A copy of a dict of those keys is a copy of its table;
// what then costs is to hash and look up each key again only to exchange its value: on 264,346
// vertices 14 ms for whole numbers as names and 70 ms for strings, where writing the values in a
// row takes 4 ms. CPython has no call for that, so the slots are found from the table's layout,
// which has been this one since 3.11. It is tried on two small dicts first; where the layout
// differs (or in a build without the GIL) there are no slots, and the caller sets its items one by
// one.
#pragma once

#include <Python.h>

#include <optional>

namespace nearfar {

class ValueSlots {
 public:
  // Empty where the layout is unknown, or the dict shares its keys with others.
  static std::optional<ValueSlots> of(PyObject* dict);

  // The next value in the dict's order. Call it once an item; the dict must not change meanwhile.
  PyObject*& next() {
    while (*at_ == nullptr) at_ += stride_;  // the place of a deleted item
    PyObject*& value = *at_;
    at_ += stride_;
    return value;
  }

 private:
  ValueSlots(PyObject** at, int stride) : at_(at), stride_(stride) {}
  static std::optional<ValueSlots> find(PyObject* dict);
  static bool layout_is_known();

  PyObject** at_;
  int stride_;  // in pointers
};

}  // namespace nearfar
