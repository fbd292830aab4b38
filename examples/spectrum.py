"""System identification in the frequency domain: poles, residues and a delay, from a noisy response.

    H(ω) = Σₖ rₖ / (iω − pₖ) · exp(−iωτ)        loss = mean |H(ω) − data|² + penalty of the energy after the first half

Unknowns are complex; the gradient with respect to them is one more function of the library. The penalty looks at the
impulse response, which an inverse Fourier transform gives. Descent by L-BFGS on real and imaginary parts.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

import aotensor as aot
import aotensor.tensor as at

N = 256
poles, residues = at.zvector("poles", shape=("k",)), at.zvector("residues", shape=("k",))
delay, data = at.scalar("delay"), at.zvector("data", shape=(N,))
omega = at.constant(2 * np.pi * np.fft.fftfreq(N) * 20)
response = (residues / (1j * omega[:, None] - poles)).sum(axis=1) * at.exp(-1j * omega * delay)
impulse = at.ifft(response)
loss = at.sqr(at.abs(response - data)).mean() + 1e-3 * at.sqr(at.abs(impulse[N // 2 :])).sum()
gradients = {f"d{x.name}": aot.grad(loss, x) for x in (poles, residues, delay)}
identify = aot.function(
    [poles, residues, delay, data], {"loss": loss, "response": response, **gradients}, name="identify"
)


def unpacked(x: np.ndarray, k: int) -> list[np.ndarray]:
    """Poles, residues and delay of a vector of reals."""
    pairs = x[:-1].reshape(2, k, 2)
    return [*(pairs[..., 0] + 1j * pairs[..., 1]), x[-1]]


if __name__ == "__main__":
    true = np.array([-0.4 + 6j, -0.8 - 15j]), np.array([1.0 + 0.5j, -2.0]), 0.05
    rng = np.random.default_rng(0)
    clean = response.eval({poles: true[0], residues: true[1], delay: true[2]})
    noisy = clean + 0.02 * (rng.normal(size=N) + 1j * rng.normal(size=N))

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        """Loss and gradient in the reals: the conjugate of a complex gradient has both derivatives as its parts."""
        found = identify(*unpacked(x, 2), noisy)
        parts = [np.stack([g.real, -g.imag], -1).ravel() for g in (found["dpoles"], found["dresidues"])]
        return float(found["loss"]), np.concatenate([*parts, [float(found["ddelay"])]])

    start = np.array([-1, 5, -1, -14, 1, 0, -1, 0, 0.0])
    fitted = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-15})
    p, r, tau = unpacked(fitted.x, 2)
    order = np.argsort(-p.imag)
    print(f"poles {p[order].round(2)}, residues {r[order].round(2)}, delay {tau:.3f}")
    print(f"loss {fitted.fun:.2e}, {fitted.nfev} evaluations")
    model = identify(p, r, tau, noisy)["response"]
    of_data, of_model = (float(np.sqrt(np.mean(np.abs(x - clean) ** 2))) for x in (noisy, model))
    print(f"error of the data {of_data:.4f}, of the model {of_model:.4f}")
