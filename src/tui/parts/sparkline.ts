const BARS = '▁▂▃▄▅▆▇█';

/** The last `width` values as bars; the highest of them fills its place. Nothing is left of where the values begin. */
export function sparkline(values: readonly number[], width: number): string {
  const shown = values.slice(-width);
  const highest = Math.max(...shown, 0);
  const bars = shown.map((value) => {
    const level = highest <= 0 ? 0 : Math.round((Math.max(0, value) / highest) * (BARS.length - 1));
    return BARS.charAt(level);
  });
  return ' '.repeat(width - shown.length) + bars.join('');
}
