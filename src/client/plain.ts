/**
 * What a terminal obeys instead of showing: C0 and C1 controls (ANSI sequences begin with one), DEL, bidirectional
 * overrides that make text read other than it is, line separators, and lone surrogates.
 */
const UNSAFE =
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function escaped(unsafe: string): string {
  const code = unsafe.charCodeAt(0);
  return (
    NAMED[unsafe] ??
    (code < 256 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`)
  );
}

/** Text from elsewhere as one line that is safe to show on a terminal, cut to `limit` characters. */
export function plain(text: string, limit = 2000): string {
  return cut(text, limit).replace(UNSAFE, escaped);
}

/** The same with its line breaks kept. */
export function plainLines(text: string, limit = 100_000): string {
  return cut(text, limit)
    .replace(/\r\n/g, '\n')
    .replace(UNSAFE, (unsafe) => (unsafe === '\n' ? unsafe : escaped(unsafe)));
}

/** JSON text with the same characters as `\uXXXX`: the same JSON, safe on a terminal. */
export function plainJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) ?? 'null';
  return text.replace(UNSAFE, (unsafe) =>
    unsafe === '\n' ? unsafe : `\\u${unsafe.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const end = /[\ud800-\udbff]/.test(text.charAt(limit - 1)) ? limit - 1 : limit;
  return `${text.slice(0, end)}… (${text.length - end} more characters)`;
}
