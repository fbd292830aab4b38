addpath(pwd());
model_build();
kinds_build();
X = reshape([1 2 3 4 5 6], [3 2]);
y = [1; -1; 2];
w = [0.5; 2.0];
[loss, g] = squares(X, y, w);
assert(abs(loss - sum((X * w - y) .^ 2)) < 1e-10);
assert(max(abs(g - 2 * X' * (X * w - y))) < 1e-10);
assert(squares(X, y', w) == loss && pick(y, int64(2)) == 2);
[Y, long] = turned(X, y);
assert(isequal(Y, 2 * X') && isequal(long, [y; y(1:2)]));
assert(isequal(positive(y), [1; 2]) && isequal(size(positive(-abs(y))), [0 1]));
Z = [1 + 2i, 5 - 6i; 3, 7i];
[some, others, twice, conjugate] = kinds([true false], single([1.5 1.5 2]), Z);
assert(some && islogical(others) && isequal(others, [false; true]));
assert(isa(twice, 'single') && isequal(twice, [3; 3; 4]) && isequal(conjugate, conj(Z)));
[~, ~, ~, same] = kinds([true false], single([1 1 1]), real(Z));
assert(isequal(same, real(Z)) && squares(zeros(0, 2), [], w) == 0);
calls = {{'pick', y, 2}, {'pick', y, int64(9)}, {'squares', X, y(1:2), w}, {'squares', X, y}, ...
         {'squares', sparse(X), y, w}, {'squares', X * 1i, y, w}, {'squares', ones(2, 2, 2), y, w}};
for k = 1:numel(calls)
  try
    feval(calls{k}{:});
    disp('nothing');
  catch failure
    disp(failure.message);
  end
end
