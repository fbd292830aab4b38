// Processor time of the reprojection error and its Jacobians, in turns: nanoseconds of a call, quartiles of all turns.
#include <ceres/ceres.h>
#include <ceres/rotation.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <vector>

#include "bal_ceres.h"
#include "sym/reproject.h"
#include "sym/reproject_with_jacobians01.h"

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

using Camera = Eigen::Matrix<double, 9, 1>;

// The generated function as it is, without the transposition to the rows that Ceres wants.
__attribute__((noinline)) static void symforce(const double *camera, const double *point, const double *seen,
                                               double *residuals, double **jacobians) {
  const Camera c = Eigen::Map<const Camera>(camera);
  const Eigen::Vector3d p = Eigen::Map<const Eigen::Vector3d>(point);
  const Eigen::Vector2d s = Eigen::Map<const Eigen::Vector2d>(seen);
  if (jacobians == nullptr) {
    Eigen::Map<Eigen::Vector2d>{residuals} = sym::Reproject<double>(c, p, s, 1e-15);
    return;
  }
  Eigen::Matrix<double, 2, 9> by_camera;
  Eigen::Matrix<double, 2, 3> by_point;
  const bool both = jacobians[0] != nullptr && jacobians[1] != nullptr;
  Eigen::Map<Eigen::Vector2d>{residuals} =
      sym::ReprojectWithJacobians01<double>(c, p, s, 1e-15, both || jacobians[0] ? &by_camera : nullptr,
                                   both || jacobians[1] ? &by_point : nullptr);
  if (jacobians[0]) Eigen::Map<Eigen::Matrix<double, 2, 9>>{jacobians[0]} = by_camera;
  if (jacobians[1]) Eigen::Map<Eigen::Matrix<double, 2, 3>>{jacobians[1]} = by_point;
}

static double now() {
  timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e9 * t.tv_sec + t.tv_nsec;
}

int main() {
  const double camera[] = {0.1, -0.2, 0.3, 0.5, -0.4, -6, 5, -1e-2, 1e-3}, point[] = {0.3, 0.2, -1}, seen[] = {0.5, 0.25};
  const double *parameters[] = {camera, point};
  const reproject_cost_function ours(seen);
  const ceres::AutoDiffCostFunction<Jets, 2, 9, 3> jets(new Jets{seen[0], seen[1]});
  double residuals[2], by_camera[18], by_point[6], other[2], by_columns[18], of_point[6];
  double *all[] = {by_camera, by_point}, *camera_only[] = {by_camera, nullptr}, *point_only[] = {nullptr, by_point};
  double *columns[] = {by_columns, of_point};
  jets.Evaluate(parameters, residuals, all);
  symforce(camera, point, seen, other, columns);
  double worst = 0;
  for (int i = 0; i < 2; ++i) {
    worst = std::max(worst, std::fabs(residuals[i] - other[i]));
    for (int j = 0; j < 9; ++j) worst = std::max(worst, std::fabs(by_camera[9 * i + j] - by_columns[i + 2 * j]));
    for (int j = 0; j < 3; ++j) worst = std::max(worst, std::fabs(by_point[3 * i + j] - of_point[i + 2 * j]));
  }
  std::printf("%.3g\n", worst);
  double **subsets[] = {nullptr, all, camera_only, point_only};
  const std::function<void(double **)> contenders[] = {
      [&](double **jacobians) { ours.Evaluate(parameters, residuals, jacobians); },
      [&](double **jacobians) { symforce(camera, point, seen, residuals, jacobians); },
      [&](double **jacobians) { jets.Evaluate(parameters, residuals, jacobians); },
  };
  for (double **subset : subsets) {
    std::vector<double> taken[3];
    for (int turn = 0; turn < 201; ++turn)
      for (int k = 0; k < 3; ++k) {
        const double start = now();
        for (int repeat = 0; repeat < 5000; ++repeat) contenders[k](subset);
        taken[k].push_back((now() - start) / 5000);
      }
    for (auto &x : taken) {
      std::sort(x.begin(), x.end());
      std::printf("%.1f %.1f %.1f  ", x[50], x[100], x[150]);
    }
    std::printf("\n");
  }
}
