/** Doubles as Go prints them. Upstream: strconv.FormatFloat, which cel-go common/types/double.go uses. */

/** As `%g`: the shortest digits, with an exponent from a million upwards and below a ten-thousandth. */
export function doubleText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [, sign = '', digits = '', power = ''] = /^(-?)([\d.]+)e([+-]\d+)$/.exec(value.toExponential()) ?? [];
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return exponent < 0 ? fixed(sign, digits, exponent) : String(value);
  return `${sign}${digits}e${exponentText(exponent)}`;
}

function fixed(sign: string, digits: string, exponent: number): string {
  return `${sign}0.${'0'.repeat(-exponent - 1)}${digits.replace('.', '')}`;
}

/** An exponent of at least two digits. */
function exponentText(exponent: number): string {
  return `${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
}
