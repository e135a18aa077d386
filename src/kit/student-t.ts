/** ln Γ(x), x > 0; Lanczos' approximation (g = 7, n = 9), good to about 15 digits. */
function lnGamma(x: number): number {
  const coefficients = [
    676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
    -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
  ];
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - lnGamma(1 - x);
  const y = x - 1;
  const t = y + 7.5;
  const sum = coefficients.reduce((acc, c, i) => acc + c / (y + i + 1), 0.9999999999998099);
  return 0.5 * Math.log(2 * Math.PI) + (y + 0.5) * Math.log(t) - t + Math.log(sum);
}

/** Regularised incomplete beta function I_x(a, b), by its continued fraction (Lentz's method). */
function incompleteBeta(x: number, a: number, b: number): number {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  // The fraction converges fast only below the mean; above it the symmetry is used.
  if (x > (a + 1) / (a + b + 2)) return 1 - incompleteBeta(1 - x, b, a);
  const front = Math.exp(a * Math.log(x) + b * Math.log(1 - x) + lnGamma(a + b) - lnGamma(a) - lnGamma(b)) / a;
  const tiny = 1e-300;
  let c = 1;
  let d = 1 / (1 - ((a + b) * x) / (a + 1) || tiny);
  let result = d;
  for (let m = 1; m < 500; m++) {
    const even = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + even * d || tiny);
    c = 1 + even / c || tiny;
    result *= d * c;
    const odd = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + odd * d || tiny);
    c = 1 + odd / c || tiny;
    result *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return front * result;
}

/** P(|T| > t) for Student's t with `df` degrees of freedom. */
export const studentTwoSided = (t: number, df: number): number => incompleteBeta(df / (df + t * t), df / 2, 0.5);

/** The t that |T| exceeds with probability `alpha`, by bisection; `df` may be a fraction. */
export function studentQuantile(alpha: number, df: number): number {
  let low = 0;
  let high = 1e7;
  for (let i = 0; i < 200 && high - low > 1e-10 * high; i++) {
    const middle = (low + high) / 2;
    if (studentTwoSided(middle, df) > alpha) low = middle;
    else high = middle;
  }
  return (low + high) / 2;
}
