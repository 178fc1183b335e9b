/** Bytes: more than what is let go for describing an error, far less than what a script that ends well leaves. */
const PROBE = 4 * 1024 * 1024;

/**
 * What runs inside a sandbox before its script does. It takes hold of the builtins first, so that a script that replaces
 * them fools nobody but itself. Text passes the border as JSON only: C strings would lose U+0000 and lone surrogates.
 */
export const SANDBOX_GLOBALS = String.raw`(function (log) {
  const { parse, stringify } = JSON;
  const { defineProperty, keys, hasOwn } = Object;
  const { isFinite } = Number;
  const { apply } = Reflect;
  const { slice } = String.prototype;
  const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;
  const isIdentifier = identifier.test.bind(identifier);
  const text = String;
  const Problem = TypeError;
  const Memory = ArrayBuffer;
  const clipped = (string) => apply(slice, string, [0, 10000]);

  function shown(value) {
    if (typeof value === 'string') return value;
    if (typeof value === 'function') return '[function]';
    if (typeof value !== 'object' || value === null) return text(value);
    try {
      return hasOwn(value, 'stack') ? value.name + ': ' + value.message : (stringify(value) ?? '[object]');
    } catch {
      return '[object that is no JSON]';
    }
  }

  function logger(level) {
    return (...values) => {
      let line = '';
      for (let i = 0; i < values.length; i += 1) line += (i === 0 ? '' : ' ') + shown(values[i]);
      log(stringify({ level, line: clipped(line) }));
    };
  }
  const info = logger('INFO');
  globalThis.console = { log: info, info, debug: info, warn: logger('WARN'), error: logger('ERROR') };

  function variables(json) {
    const values = parse(json);
    const names = keys(values);
    for (let i = 0; i < names.length; i += 1) {
      const name = names[i];
      if (!isIdentifier(name)) continue;
      try {
        defineProperty(globalThis, name, { value: values[name], writable: true, enumerable: true, configurable: true });
      } catch {
        // undefined, NaN and Infinity can't be given another value.
      }
    }
  }

  function unfit(value) {
    const kind = typeof value;
    if (kind === 'number') return isFinite(value) ? '' : text(value);
    return kind === 'function' || kind === 'symbol' || kind === 'bigint' ? 'a ' + kind : '';
  }

  function checked(key, value) {
    const what = unfit(value);
    if (what === '') return value;
    throw new Problem((key === '' ? 'the result' : "the result's '" + key + "'") + ' is ' + what + ', which JSON cannot hold');
  }

  function result(value) {
    try {
      return stringify(value, checked) ?? 'null';
    } catch (error) {
      if (error instanceof Problem && error.message === 'circular reference')
        throw new Problem('the result holds itself, which JSON cannot');
      throw error;
    }
  }

  /** Where there is no memory for an error, the interpreter throws null. */
  function isFull() {
    try {
      return new Memory(${PROBE}) === null;
    } catch {
      return true;
    }
  }

  function description(thrown) {
    const isObject = (typeof thrown === 'object' && thrown !== null) || typeof thrown === 'function';
    const own = (key) => (isObject && hasOwn(thrown, key) && typeof thrown[key] === 'string' ? clipped(thrown[key]) : undefined);
    const isError = own('stack') !== undefined;
    const name = isError && typeof thrown.name === 'string' ? clipped(thrown.name) : '';
    const message = own('message') ?? (isError ? '' : clipped(shown(thrown)));
    return stringify({ code: own('code'), name, message, stack: own('stack'), full: thrown === null && isFull() });
  }

  return { variables, result, description };
})`;
