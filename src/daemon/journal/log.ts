/** Where the journal says what it repaired and what it could not do: pino's form. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}
