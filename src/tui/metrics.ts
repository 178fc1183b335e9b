/** Numbers of one moment by name; labelled ones are added up. */
export type Sample = ReadonlyMap<string, number>;

/** Reads Prometheus' text format. */
export function parseMetrics(text: string): Sample {
  const sample = new Map<string, number>();
  for (const line of text.split('\n')) {
    const [, name, value] = /^([a-zA-Z_:][\w:]*)(?:\{[^}]*\})? (\S+)$/.exec(line) ?? [];
    if (name === undefined || Number.isNaN(Number(value))) continue;
    sample.set(name, (sample.get(name) ?? 0) + Number(value));
  }
  return sample;
}

/** Names of labelled numbers: `wfx_info{version="1"}` gives `version` → `1`. */
export const labelOf = (text: string, metric: string, label: string): string | undefined =>
  new RegExp(`^${metric}\\{[^}]*${label}="([^"]*)"`, 'm').exec(text)?.[1];

/** Samples that are kept: ten minutes at one a second. */
const KEPT = 600;

interface Moment {
  readonly at: number;
  readonly values: Sample;
}

/** What a daemon counted, moment by moment. */
export class Samples {
  readonly #samples: Moment[] = [];

  add(at: number, values: Sample): void {
    this.#samples.push({ at, values });
    if (this.#samples.length > KEPT) this.#samples.shift();
  }

  get last(): Sample | undefined {
    return this.#samples.at(-1)?.values;
  }

  values(name: string): readonly number[] {
    return this.#samples.map(({ values }) => values.get(name) ?? 0);
  }

  /** By how much a counter grew in a second, between each two moments. A counter that fell began anew. */
  rates(name: string): readonly number[] {
    return this.#samples.slice(1).map(({ at, values }, i) => {
      const before = this.#samples[i] as Moment;
      const grown = (values.get(name) ?? 0) - (before.values.get(name) ?? 0);
      return grown < 0 ? 0 : grown / Math.max(0.001, (at - before.at) / 1000);
    });
  }
}
