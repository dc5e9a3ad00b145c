// Conversion of NetworkX's dicts of dicts to CSR, and of distances to a dict.
//
// NetworkX stores a graph as {vertex: {neighbour: {attribute: value}}} (with one more level of edge
// keys in a multigraph). Iterating over that in Python takes longer than most searches; this is one
// pass with borrowed references. Only exact Python and NumPy numbers are accepted as weights:
// others (Fraction, Decimal, a caller's own class) are rejected, because NetworkX itself keeps
// their type.
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cpu/bindings/dtypes.hpp"
#include "cpu/bindings/errors.hpp"

namespace nearfar {
namespace {

constexpr int64_t kExactInDouble = int64_t{1} << 53;

class Weights {
 public:
  void push(PyObject* value) {
    if (PyFloat_Check(value)) return push_double(PyFloat_AsDouble(value));
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
    throw Unsupported(std::string("an edge weight is of type ") +
                      nb::inst_name(nb::handle(value)).c_str());
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
      const nb::ft_object_guard neighbours_stay(neighbours);
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
        const nb::ft_object_guard data_stay(data);
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

// Returns (indptr, indices, weights), or none where the adjacency is a mapping other than a dict of
// dicts.
std::optional<Arrays> dicts_to_csr(nb::dict adjacency, nb::dict places, nb::object weight,
                                   bool multigraph) {
  // Without the GIL another thread could change the dicts.
  const nb::ft_object_guard adjacency_stays(adjacency);
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
  // A multigraph may have more edges than neighbours: the vectors grow.
  const bool narrow = std::max(n, m) < (std::size_t{1} << 31) - 1 && !multigraph;
  return narrow ? run(Reader<int32_t>(places, weight)) : run(Reader<int64_t>(places, weight));
}

template <class T>
PyObject* number(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return PyFloat_FromDouble(value);
  else if constexpr (sizeof(T) <= sizeof(long))
    return PyLong_FromLong(value);  // unlike FromLongLong, fast for small numbers
  else
    return PyLong_FromLongLong(value);
}

// Python returns unused memory to the system a megabyte at a time; getting it back takes a third of
// the time of a new dict. So one number per megabyte (32 bytes each) is kept until the next dict of
// the same graph.
constexpr std::size_t kKeepOneIn = 1 << 14;

template <class T>
nb::dict in_order(nb::list names, const T* values, const Ids& order, nb::list kept) {
  constexpr std::size_t ahead = 8;
  const auto n = static_cast<std::size_t>(NB_LIST_GET_SIZE(names.ptr()));
#if defined(Py_LIMITED_API)
  std::vector<PyObject*> items(n);  // the stable ABI does not expose a list's items
  for (std::size_t i = 0; i < n; ++i)
    items[i] = PyList_GetItem(names.ptr(), static_cast<Py_ssize_t>(i));
  PyObject** const first = items.data();
#else
  PyObject** const first = PySequence_Fast_ITEMS(names.ptr());
#endif
  const std::size_t count = order.size();
  for (std::size_t i = 0; i < count; ++i)
    if (static_cast<uint64_t>(order.data()[i]) >= n) throw nb::index_error("order: no such vertex");
  nb::dict out;
  nb::list keep;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + ahead < count) __builtin_prefetch(first[order.data()[i + ahead]], 1);
    const int64_t v = order.data()[i];
    nb::object value = nb::steal(number(values[v]));
    if (!value.is_valid()) throw nb::python_error();
    if (i % kKeepOneIn == kKeepOneIn - 1) keep.append(value);
    if (PyDict_SetItem(out.ptr(), first[v], value.ptr()) != 0) throw nb::python_error();
  }
  if (PyList_SetSlice(kept.ptr(), 0, PyList_Size(kept.ptr()), keep.ptr()) != 0)
    throw nb::python_error();
  return out;
}

// Returns {vertex: distance} of some vertices, in their order. `kept` is a list owned by the graph,
// for in_order. Hashing and comparing the names must not run Python code that changes the list.
nb::typed<nb::dict, nb::any, nb::any> distance_dict(nb::list names, const ConstArray& distances,
                                                    const Ids& order, nb::list kept) {
  if (static_cast<std::size_t>(NB_LIST_GET_SIZE(names.ptr())) != distances.size())
    throw nb::value_error("expected one distance per vertex");
  return with_weight_type(distances.dtype(), [&](auto tag) {
    return in_order(names, static_cast<const decltype(tag)*>(distances.data()), order, kept);
  });
}

}  // namespace

NEARFAR_BIND(m) {
  using nb::arg;
  m.def("dicts_to_csr", &dicts_to_csr, arg("adjacency"), arg("places"), arg("weight").none(),
        arg("multigraph"));
  m.def("distance_dict", &distance_dict, arg("names"), arg("distances"), arg("order"), arg("kept"));
}

}  // namespace nearfar
