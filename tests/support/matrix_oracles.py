"""Independent references for matrix problems: raw flows, first-order methods, high precision."""

import mpmath as mp
import numpy as np
from scipy.integrate import solve_ivp


def commuting(d1, d2, samples, seed, symmetric=False):
    """Measurements P diag(λ_n) Rᵀ with random P, R and λ of both signs, and targets that can be fitted."""
    rng = np.random.default_rng(seed)
    P, R = (np.linalg.qr(rng.standard_normal((d, d)))[0] for d in (d1, d2))
    R = P if symmetric else R
    k = min(d1, d2)
    spectra = rng.standard_normal((samples, k))
    X = np.einsum("ik,nk,jk->nij", P[:, :k], spectra, R[:, :k])
    X = (X + X.transpose(0, 2, 1)) / 2 if symmetric else X
    return X, spectra @ (rng.random(k) if symmetric else rng.standard_normal(k))


def raw_end(lifted, X, y, symmetric=False, time=1e8):
    """M̄ of U Vᵀ (or W Wᵀ) after this time of gradient flow on ½Σ(⟨X_n, M⟩ − y_n)², by LSODA."""
    size, d1 = len(lifted), X.shape[1]

    def rate(_, flat):
        M = flat.reshape(size, size)
        seen = M if symmetric else M[:d1, d1:]
        G = np.tensordot(np.einsum("nij,ij->n", X, seen) - y, X, 1)
        S = G if symmetric else np.block([[np.zeros((d1, d1)), G], [G.T, np.zeros((size - d1,) * 2)]])
        return -(S @ M + M @ S).ravel()

    run = solve_ivp(rate, (0, time), lifted.ravel(), method="LSODA", rtol=1e-12, atol=1e-15)
    return run.y[:, -1].reshape(size, size)


def first_order_nuclear(X, y, steps=20_000, penalty=1.0):
    """argmin ‖M‖_* subject to ⟨X_n, M⟩ = y_n, by Douglas–Rachford: shrink, project, average."""
    shape, A = X.shape[1:], X.reshape(len(X), -1)
    onto = np.linalg.pinv(A)
    Z = (onto @ y).reshape(shape)
    for _ in range(steps):
        M = Z - (onto @ (A @ Z.ravel() - y)).reshape(shape)
        left, sigma, right = np.linalg.svd(2 * M - Z, full_matrices=False)
        change = (left * np.maximum(sigma - penalty, 0.0)) @ right - M
        Z = Z + change
        if np.abs(change).max() < 1e-13:
            break
    return Z - (onto @ (A @ Z.ravel() - y)).reshape(shape)


def many_digits_schatten(X, y, m, nu, digits=40):
    """argmin Σ m q(σ/m), q the hypentropy, by Newton's method in multiprecision arithmetic from multipliers
    ν."""
    with mp.workdps(digits):
        mats = [mp.matrix(each.tolist()) for each in X]
        targets = [mp.mpf(float(each)) for each in y]
        scale = mp.mpf(m)

        def matrix(nu):
            slope = sum((v * each for v, each in zip(nu, mats, strict=True)), mp.zeros(*X.shape[1:]))
            P, s, R = mp.svd_r(slope)
            return P * mp.diag([2 * scale * mp.sinh(each) for each in s]) * R

        def residual(*nu):
            M = matrix(nu)
            return [
                sum(a * b for a, b in zip(each, M, strict=True)) - t
                for each, t in zip(mats, targets, strict=True)
            ]

        found = mp.findroot(residual, [mp.mpf(float(v)) for v in nu], tol=mp.mpf(10) ** (-1.5 * digits))
        return np.array(matrix(list(found)).tolist(), dtype=float)
