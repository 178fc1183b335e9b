import type { At } from './kind.ts';
import type { CompiledKeys, Keys } from './record.ts';

/** What a node of one type may be written with. Beside its own keys every node takes `type` and `name`. */
export interface Declaration {
  /** What the node does, in one line. */
  readonly summary: string;
  /** `next`: one id or a list. `ways`: the conditional `next` of a gateway. `none`: no outgoing `next`. */
  readonly connections: 'next' | 'ways' | 'none';
  /** Takes `errorFlow`. */
  readonly fails: boolean;
  /** Takes `timeout` and `timeoutFlow`. */
  readonly timeout: boolean;
  readonly retry: boolean;
  /** May carry boundary events. */
  readonly boundaries: boolean;
  readonly keys: Keys;
  /** Exactly one of these sets of keys; the first key of each tells which. */
  readonly either?: readonly Keys[];
  /** Further keys by the value of the key `by`. */
  readonly cases?: { readonly by: string; readonly of: Readonly<Record<string, Keys>> };
  /** What concerns several keys together. */
  readonly check?: (keys: never, at: At) => void;
}

type Names<U> = U extends unknown ? keyof U : never;
/** The members of a union, each telling that it has none of the other members' keys. */
type Apart<U, All extends PropertyKey = Names<U>> = U extends unknown
  ? U & { readonly [N in Exclude<All, keyof U>]?: undefined }
  : never;

type EitherOf<D> = D extends { readonly either: readonly (infer K)[] }
  ? Apart<K extends Keys ? CompiledKeys<K> : never>
  : unknown;
type CasesOf<D> = D extends { readonly cases: { readonly by: infer B extends string; readonly of: infer C } }
  ? Apart<{ [V in keyof C]: Tagged<B, V, CompiledKeys<C[V]>> }[keyof C]>
  : unknown;
type Tagged<B extends string, V, T> = { [N in B | keyof T]: N extends keyof T ? T[N] : V };

/** The compiled own keys of a node that is declared so. */
export type Compiled<D extends { readonly keys: Keys }> = CompiledKeys<D['keys']> & EitherOf<D> & CasesOf<D>;
