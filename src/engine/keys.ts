/** What the keys of a flow file may hold: the kinds, and the words that declare a map's keys with them. */
export * from './keys/connection.ts';
export type { Compiled, Declaration } from './keys/declaration.ts';
export * from './keys/form.ts';
export type { At, JsonSchema, Kind } from './keys/kind.ts';
export { type CompiledKeys, type Key, type Keys, optional, required, withDefault } from './keys/record.ts';
export * from './keys/scalar.ts';
export * from './keys/template.ts';
export * from './keys/time.ts';
export * from './keys/work.ts';
