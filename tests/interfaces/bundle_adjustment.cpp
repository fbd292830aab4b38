// Solves a problem in the format of BAL twice: with derivatives by ceres::Jet, and with those of the library.
// Prints, for each: final cost, iterations, then all parameters. With "time": nanoseconds of an evaluation.
#include <ceres/ceres.h>
#include <ceres/rotation.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <vector>

#include "bal_ceres.h"

struct Jets {
  double u, v;
  template <typename T>
  bool operator()(const T *camera, const T *point, T *residuals) const {
    T p[3];
    ceres::AngleAxisRotatePoint(camera, point, p);
    for (int k = 0; k < 3; ++k) p[k] += camera[3 + k];
    const T x = -p[0] / p[2], y = -p[1] / p[2], r = x * x + y * y;
    const T scale = camera[6] * (1.0 + r * (camera[7] + camera[8] * r));
    residuals[0] = scale * x - u;
    residuals[1] = scale * y - v;
    return true;
  }
};

static ceres::CostFunction *made(bool by_jets, const double *seen) {
  if (by_jets) return new ceres::AutoDiffCostFunction<Jets, 2, 9, 3>(new Jets{seen[0], seen[1]});
  return new reproject_cost_function(seen);
}

static void measure(bool by_jets, const double *camera, const double *point, const double *seen) {
  ceres::CostFunction *cost = made(by_jets, seen);
  const double *parameters[] = {camera, point};
  double residuals[2], by_camera[18], by_point[6];
  double *all[] = {by_camera, by_point}, *of_camera[] = {by_camera, nullptr}, *of_point[] = {nullptr, by_point};
  std::printf("%s", by_jets ? "jets" : "ours");
  for (double **jacobians : {(double **)nullptr, all, of_camera, of_point}) {
    double best = 1e9;
    for (int repeat = 0; repeat < 20; ++repeat) {
      const auto start = std::chrono::steady_clock::now();
      for (int k = 0; k < 20000; ++k) cost->Evaluate(parameters, residuals, jacobians);
      const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - start;
      best = std::min(best, taken.count() / 20000);
    }
    std::printf(" %.1f", best);
  }
  std::printf("\n");
  delete cost;
}

int main(int argc, char **argv) {
  std::ifstream file(argv[1]);
  int cameras, points, count;
  file >> cameras >> points >> count;
  std::vector<int> camera(count), point(count);
  std::vector<double> seen(2 * count), start(9 * cameras + 3 * points);
  for (int k = 0; k < count; ++k) file >> camera[k] >> point[k] >> seen[2 * k] >> seen[2 * k + 1];
  for (double &x : start) file >> x;
  for (bool by_jets : {true, false}) {
    std::vector<double> x = start;
    if (argc > 2) {
      measure(by_jets, &x[0], &x[9 * cameras], &seen[0]);
      continue;
    }
    ceres::Problem problem;
    for (int k = 0; k < count; ++k)
      problem.AddResidualBlock(made(by_jets, &seen[2 * k]), nullptr, &x[9 * camera[k]], &x[9 * cameras + 3 * point[k]]);
    problem.SetParameterBlockConstant(&x[0]);
    problem.SetParameterBlockConstant(&x[9 * cameras]);
    ceres::Solver::Options options;
    options.linear_solver_type = ceres::DENSE_SCHUR;
    options.function_tolerance = options.gradient_tolerance = options.parameter_tolerance = 1e-14;
    ceres::Solver::Summary summary;
    ceres::Solve(options, &problem, &summary);
    std::printf("%.17g %zu\n", 2 * summary.final_cost, summary.iterations.size());
    for (double value : x) std::printf("%.17g ", value);
    std::printf("\n");
  }
}
