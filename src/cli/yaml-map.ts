import { parseDocument } from 'yaml';

/** The value of a YAML (or JSON) text, with what the parser says where it is none. Loaded only where a file is read. */
export function yamlValue(text: string): { readonly value: unknown } | { readonly problem: string } {
  const document = parseDocument(text, { version: '1.2', stringKeys: true });
  const [error] = document.errors;
  if (error !== undefined) return { problem: error.message.split('\n', 1)[0] ?? '' };
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
