// The loops of a library on the threads of oneTBB, for programs whose own loops run there.
//
//   tbb
//
// Made from ../logistic.py. Exit status: 0 the results are equal, 1 they are not, 2 a call failed.
#include <oneapi/tbb/parallel_for.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "logistic.h"

namespace {

extern "C" void on_tbb(void *, int64_t chunks, void (*task)(void *argument, int64_t chunk), void *argument) {
  tbb::parallel_for(int64_t{0}, chunks, [=](int64_t chunk) { task(argument, chunk); });
}

struct Result {
  double loss = 0.0;
  std::vector<double> gradient;
  int32_t status = AOTENSOR_OK;
};

Result evaluate(const std::vector<double> &X, const std::vector<double> &y, bool with_tbb) {
  const auto n = static_cast<int64_t>(y.size()), p = static_cast<int64_t>(X.size()) / n;
  const int64_t matrix[] = {n, p};
  const double l2 = 0.01;
  std::vector<double> w(static_cast<std::size_t>(p), 0.25);
  Result result;
  result.gradient.resize(w.size());
  aotensor_context context{};
  context.struct_size = sizeof context;
  context.num_threads = with_tbb ? 0 : 1;
  context.parallel_for = with_tbb ? on_tbb : nullptr;
  const auto data = [](const double *x) { return const_cast<double *>(x); };
  const aotensor_array inputs[] = {{data(X.data()), matrix, nullptr, 2, AOTENSOR_FLOAT64},
                                   {data(y.data()), &n, nullptr, 1, AOTENSOR_FLOAT64},
                                   {w.data(), &p, nullptr, 1, AOTENSOR_FLOAT64},
                                   {data(&l2), nullptr, nullptr, 0, AOTENSOR_FLOAT64}};
  aotensor_array outputs[] = {{&result.loss, nullptr, nullptr, 0, AOTENSOR_FLOAT64},
                              {result.gradient.data(), &p, nullptr, 1, AOTENSOR_FLOAT64}};
  result.status = logistic_call(&context, inputs, outputs);
  return result;
}

}  // namespace

int main() {
  const std::size_t n = 200000, p = 30;
  std::vector<double> X(n * p), y(n);
  for (std::size_t i = 0; i < X.size(); ++i) X[i] = static_cast<double>(i % 101) / 101.0 - 0.5;
  for (std::size_t i = 0; i < n; ++i) y[i] = i % 3 ? 1.0 : -1.0;
  const Result alone = evaluate(X, y, false), together = evaluate(X, y, true);
  if (alone.status != AOTENSOR_OK || together.status != AOTENSOR_OK) return 2;
  std::printf("loss %.15f\n", together.loss);
  const bool is_equal = alone.loss == together.loss && alone.gradient == together.gradient;
  std::puts(is_equal ? "ok" : "WRONG");
  return is_equal ? 0 : 1;
}
