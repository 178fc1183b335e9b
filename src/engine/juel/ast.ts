import type { Json } from '../json.ts';

export type UnaryOperator = '!' | '-' | 'empty';
export type BinaryOperator = '||' | '&&' | '==' | '!=' | '<' | '>' | '<=' | '>=' | '+' | '-' | '*' | '/' | '%';

/** One operator and what stands right of it. `offset` is the operator's place in the text. */
export interface Link {
  readonly operator: BinaryOperator;
  readonly operand: Ast;
  readonly offset: number;
}

/**
 * A parsed expression. What may be written in long rows (`a && b && c`, `a.b.c`, `!!!a`, `p ? x : q ? y : z`) is one
 * node with a list, so that the depth of the tree, and with it the stack, is bounded by the nesting alone.
 */
export type Ast =
  | { readonly kind: 'constant'; readonly value: Json }
  | { readonly kind: 'name'; readonly name: string; readonly offset: number }
  | { readonly kind: 'path'; readonly base: Ast; readonly steps: readonly { key: Ast; offset: number }[] }
  /** Operators as written: the last one is applied first. */
  | { readonly kind: 'unary'; readonly operators: readonly UnaryOperator[]; readonly operand: Ast; offset: number }
  /** Operators of one precedence, from left to right. */
  | { readonly kind: 'chain'; readonly first: Ast; readonly links: readonly Link[] }
  | { readonly kind: 'choice'; readonly cases: readonly { when: Ast; value: Ast; offset: number }[]; otherwise: Ast }
  /** Constant expressions between constant text, put together as one text. */
  | { readonly kind: 'text'; readonly parts: readonly Ast[] };

/** Why a text is no condition; `offset` counts UTF-16 units of the text given. */
export interface ExpressionProblem {
  readonly message: string;
  readonly offset: number;
}

/** Thrown by lexer and parser, and turned into an ExpressionProblem at the door. */
export class Malformed extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/** A condition that is well formed but has no value with these variables: a node error EXPRESSION_ERROR. */
export class ExpressionError extends Error {
  readonly code = 'EXPRESSION_ERROR';
  /** Where in the condition's text, in UTF-16 units. */
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.name = 'ExpressionError';
    this.offset = offset;
  }
}
