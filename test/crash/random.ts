/** Numbers from 0 up to 1 that the seed decides (mulberry32): a failure is repeated with its seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** The seed of the environment, or another one each time. */
export function seedOf(name: string): number {
  const asked = process.env[name];
  return asked === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(asked);
}
