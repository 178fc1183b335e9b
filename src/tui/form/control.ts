import type { Json } from '../../engine/json.ts';
import type { Key } from '../keys.ts';
import type { Paint } from '../theme.ts';

export interface Look {
  readonly paint: Paint;
  readonly width: number;
  readonly focused: boolean;
}

/** One question of a form, as it is answered with keys. */
export interface Control {
  readonly name: string;
  readonly label: string;
  readonly required: boolean;
  /** What its keys do, for the line under it. */
  readonly hint: string;
  lines(look: Look): readonly string[];
  /** False for keys that it has no use for: then they move between questions. */
  type(key: Key): boolean;
  /** The answer; undefined where none was given. May throw what is wrong with it, in words. */
  value(): Json | undefined | Promise<Json | undefined>;
}
