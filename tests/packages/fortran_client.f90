program main
  use model_library
  use kinds_library, only: turned, kinds, positive
  use solver_library, only: solve
  use, intrinsic :: iso_c_binding
  implicit none
  real(c_double) :: X(3, 2), y(3), w(2), loss, g(2), T(2, 3), long(5), A(3, 3), b(3), s(3)
  real(c_double), allocatable :: found(:)
  integer(c_int32_t) :: status
  character(:), allocatable :: message
  complex(c_double_complex) :: Z(2, 2), conjugate(2, 2)
  logical(c_bool) :: flags(2), some, others(2)
  real(c_float) :: v(3), twice(3)
  X = reshape([1, 2, 3, 4, 5, 6], [3, 2])
  y = [1, -1, 2]
  w = [0.5, 2.0]
  call squares(X, y, w, loss, g)
  if (abs(loss - sum((matmul(X, w) - y)**2)) > 1e-10) error stop 1
  if (any(abs(g - 2 * matmul(transpose(X), matmul(X, w) - y)) > 1e-10)) error stop 2
  status = squares_c(3_c_int64_t, 2_c_int64_t, transpose(X), y, w, loss, T, c_null_ptr)
  if (status /= 0 .or. any(abs([T(1, 1), T(2, 1)] - g) > 1e-10)) error stop 3
  if (squares_workspace(3_c_int64_t, 2_c_int64_t) < 0) error stop 4
  call turned(X, y, T, long)
  if (any(T /= 2 * transpose(X)) .or. any(long /= [y, y(:2)])) error stop 5
  call positive(y, found)
  if (any(found /= [1, 2])) error stop 6
  call positive(-abs(y), found)
  if (size(found) /= 0) error stop 13
  A = reshape([4, 1, 0, 1, 5, 2, 0, 1, 6], [3, 3])
  b = 1
  call solve(A, b, s)
  if (any(abs(matmul(A, s) - b) > 1e-14)) error stop 7
  Z = reshape([(1, 2), (3, 4), (5, 6), (7, 8)], [2, 2])
  flags = [.true., .false.]
  v = 1.5
  call kinds(flags, v, Z, some, others, twice, conjugate, num_threads=1)
  if (.not. some .or. any(others .eqv. flags) .or. any(twice /= 3) .or. any(conjugate /= conjg(Z))) error stop 8
  call squares(X(:0, :), y(:0), w, loss, g)
  if (loss /= 0) error stop 9
  call squares(X, y, w, loss, g, status, message)
  if (status /= 0 .or. len(message) /= 0) error stop 10
  call squares(X, y(:2), w, loss, g, status, message)
  if (status /= 4 .or. message /= 'squares: dim n of y is 2, but X has n = 3') error stop 11
  call turned(X, y, T, long(:4), message=message, status=status)
  if (status /= 4 .or. message /= 'turned: extent 0 of x is 4, expected 5') error stop 12
  call pick(y, 9_c_int64_t, loss)
end program
