// Dicts of dicts to CSR and distances to a dict: what a NetworkX graph costs on the way in and out.
//
// NetworkX keeps a graph as {vertex: {neighbour: {attribute: value}}} (with one more level of edge
// keys in a multigraph). Walking that in Python takes longer than most searches; here it is one
// pass with borrowed references. Only exact Python and NumPy numbers are taken as weights: for
// others (Fraction, Decimal, a caller's own class) NetworkX itself keeps the type, so they are
// refused.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/bindings.hpp"
#include "cpu/dict_values.hpp"
#include "cpu/errors.hpp"

namespace nearfar {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

class Weights {
 public:
  void push(PyObject* value) {
    if (PyFloat_Check(value)) return push_double(PyFloat_AS_DOUBLE(value));
    if (PyLong_Check(value) || PyIndex_Check(value)) {
      PyObject* whole = PyNumber_Index(value);
      if (whole == nullptr) {
        PyErr_Clear();
        throw Unsupported("an edge weight is not a number");
      }
      int overflow = 0;
      const int64_t number = PyLong_AsLongLongAndOverflow(whole, &overflow);
      Py_DECREF(whole);
      if (overflow != 0) throw Unsupported("an edge weight does not fit 64 bits");
      return push_integer(number);
    }
    throw Unsupported(std::string("an edge weight is of type ") + Py_TYPE(value)->tp_name);
  }

  void push_integer(int64_t number) {
    if (!floating) {
      integers.push_back(number);
      return;
    }
    if (number > kExactInDouble || number < -kExactInDouble)
      throw Unsupported("integer weights above 2**53 are mixed with floats");
    doubles.push_back(static_cast<double>(number));
  }

  bool floating = false;
  bool any = false;
  std::vector<int64_t> integers;
  std::vector<double> doubles;

 private:
  void push_double(double number) {
    if (!std::isfinite(number)) throw Unsupported("an edge weight is not finite");
    if (!floating) {
      floating = true;
      doubles.reserve(integers.capacity());
      for (const int64_t earlier : integers) push_integer(earlier);
      integers.clear();
    }
    doubles.push_back(number);
  }
};

using Arrays = nb::typed<nb::tuple, nb::ndarray<nb::numpy>, nb::ndarray<nb::numpy>,
                         std::optional<nb::ndarray<nb::numpy>>>;

template <class Index>
class Reader {
 public:
  Reader(nb::dict places, nb::object weight) : places_(places), weight_(weight) {}

  void read(PyObject* adjacency, bool multigraph, std::size_t n, std::size_t m) {
    indptr_.reserve(n + 1);
    indptr_.push_back(0);
    indices_.reserve(m);
    weights_.integers.reserve(m);
    PyObject *vertex, *neighbours;
    Py_ssize_t row = 0;
    while (PyDict_Next(adjacency, &row, &vertex, &neighbours)) {
      PyObject *target, *data;
      Py_ssize_t at = 0;
      while (PyDict_Next(neighbours, &at, &target, &data)) {
        PyObject* place = PyDict_GetItemWithError(places_.ptr(), target);
        if (place == nullptr) {
          if (PyErr_Occurred() != nullptr) throw nb::python_error();
          throw Unsupported("an edge leads to a vertex that is not in the graph");
        }
        const auto index = static_cast<Index>(PyLong_AsLongLong(place));
        if (!PyDict_Check(data)) throw Unsupported("its edge data are not dicts");
        if (!multigraph) {
          edge(index, data);
          continue;
        }
        PyObject *key, *parallel;
        Py_ssize_t position = 0;
        while (PyDict_Next(data, &position, &key, &parallel)) {
          if (!PyDict_Check(parallel)) throw Unsupported("its edge data are not dicts");
          edge(index, parallel);
        }
      }
      indptr_.push_back(static_cast<Index>(indices_.size()));
    }
  }

  Arrays arrays() {
    nb::object weights = nb::none();
    if (weights_.any)
      weights = weights_.floating ? nb::cast(as_numpy(std::move(weights_.doubles)))
                                  : nb::cast(as_numpy(std::move(weights_.integers)));
    return nb::make_tuple(as_numpy(std::move(indptr_)), as_numpy(std::move(indices_)), weights);
  }

 private:
  void edge(Index target, PyObject* data) {
    indices_.push_back(target);
    if (weight_.is_none()) return;
    PyObject* value = PyDict_GetItemWithError(data, weight_.ptr());
    if (value == nullptr) {
      if (PyErr_Occurred() != nullptr) throw nb::python_error();
      return weights_.push_integer(1);
    }
    weights_.any = true;
    return weights_.push(value);
  }

  nb::dict places_;
  nb::object weight_;
  std::vector<Index> indptr_, indices_;
  Weights weights_;
};

// (indptr, indices, weights); none where the adjacency is another mapping than a dict of dicts.
std::optional<Arrays> dicts_to_csr(nb::dict adjacency, nb::dict places, nb::object weight,
                                   bool multigraph) {
  std::size_t n = PyDict_Size(adjacency.ptr()), m = 0;
  PyObject *vertex, *neighbours;
  for (Py_ssize_t row = 0; PyDict_Next(adjacency.ptr(), &row, &vertex, &neighbours);) {
    if (!PyDict_Check(neighbours)) return std::nullopt;
    m += PyDict_Size(neighbours);
  }
  const auto run = [&](auto reader) {
    reader.read(adjacency.ptr(), multigraph, n, m);
    return reader.arrays();
  };
  // A multigraph may hold more edges than it has neighbours: take room to spare.
  const bool narrow = std::max(n, m) < (std::size_t{1} << 31) - 1 && !multigraph;
  return narrow ? run(Reader<int32_t>(places, weight)) : run(Reader<int64_t>(places, weight));
}

template <class T>
PyObject* number(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return PyFloat_FromDouble(value);
  else if constexpr (sizeof(T) <= sizeof(long))
    return PyLong_FromLong(value);  // with a short way for small numbers, unlike FromLongLong
  else
    return PyLong_FromLongLong(value);
}

// Where so many items would have to be deleted from a copy, the others are inserted instead.
constexpr std::size_t kDeleteAtMost = 4;  // one in so many

// Python gives its memory back to the system a megabyte at a time, once nothing in it is in use,
// and a third of the time of a new dict is to get it again. So one number in so many stays alive
// until the next dict of that graph: at least one per megabyte, at 32 bytes per number.
constexpr std::size_t kKeepOneIn = 1 << 14;

// A copy of the dict with the distances as values. `kept` holds some of the last copy's numbers.
template <class T>
nb::dict with_values(nb::dict like, const T* values, nb::list kept) {
  nb::dict out = nb::steal<nb::dict>(PyDict_Copy(like.ptr()));
  if (!out.is_valid()) throw nb::python_error();
  nb::list keep;
  const auto take = [&](std::size_t i) {
    nb::object value = nb::steal(number(values[i]));
    if (!value.is_valid()) throw nb::python_error();
    if (i % kKeepOneIn == kKeepOneIn - 1) keep.append(value);
    return value;
  };
  if (auto slots = ValueSlots::of(out.ptr())) {
    const std::size_t n = nb::len(like);
    for (std::size_t i = 0; i < n; ++i) {
      PyObject* old = std::exchange(slots->next(), take(i).release().ptr());
      Py_DECREF(old);
    }
  } else {
    PyObject *key, *old;
    std::size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(like.ptr(), &at, &key, &old); ++i)
      if (PyDict_SetItem(out.ptr(), key, take(i).ptr()) != 0) throw nb::python_error();
  }
  if (PyList_SetSlice(kept.ptr(), 0, PyList_Size(kept.ptr()), keep.ptr()) != 0)
    throw nb::python_error();
  return out;
}

// {vertex: distance} of the reached vertices. `like` has every vertex as a key in the order of the
// distances; its values are numbers, like those that take their place. `kept` is a list of
// the same graph's own, for with_values.
nb::typed<nb::dict, nb::any, nb::any> distance_dict(nb::dict like, const ConstArray& distances,
                                                    nb::list kept) {
  const auto fill = [&]<class T>(const T* values) -> nb::dict {
    const std::size_t n = distances.size();
    const auto keys = static_cast<std::size_t>(PyDict_Size(like.ptr()));
    if (keys != n)
      throw nb::value_error(("expected one distance per vertex, got " + std::to_string(n) +
                             " for " + std::to_string(keys) + " vertices")
                                .c_str());
    std::size_t missing = 0;
    for (std::size_t i = 0; i < n; ++i) missing += values[i] == unreached<T>();
    const bool most = missing <= n / kDeleteAtMost;
    nb::dict out = most ? with_values(like, values, kept) : nb::dict();
    if (most && missing == 0) return out;
    PyObject *key, *place;
    std::size_t i = 0;
    for (Py_ssize_t at = 0; PyDict_Next(like.ptr(), &at, &key, &place); ++i) {
      const bool reached = values[i] != unreached<T>();
      if (reached == most) continue;
      int failed = 0;
      if (most) {
        failed = PyDict_DelItem(out.ptr(), key);
      } else {
        nb::object value = nb::steal(number(values[i]));
        failed = value.is_valid() ? PyDict_SetItem(out.ptr(), key, value.ptr()) : -1;
      }
      if (failed != 0) throw nb::python_error();
    }
    return out;
  };
  if (distances.dtype() == nb::dtype<int32_t>())
    return fill(static_cast<const int32_t*>(distances.data()));
  if (distances.dtype() == nb::dtype<int64_t>())
    return fill(static_cast<const int64_t*>(distances.data()));
  if (distances.dtype() == nb::dtype<float>())
    return fill(static_cast<const float*>(distances.data()));
  if (distances.dtype() == nb::dtype<double>())
    return fill(static_cast<const double*>(distances.data()));
  throw nb::type_error("distances: wrong dtype");
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("dicts_to_csr", &dicts_to_csr, arg("adjacency"), arg("places"), arg("weight").none(),
        arg("multigraph"));
  m.def("distance_dict", &distance_dict, arg("like"), arg("distances"), arg("kept"));
  m.def(
      "dict_values_in_place", [](nb::dict dict) { return ValueSlots::of(dict.ptr()).has_value(); },
      arg("dict"));
}

}  // namespace nearfar
