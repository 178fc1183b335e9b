import { STATES } from '../terminal/shown.ts';
import type { Tone } from './theme.ts';

const STATE_TONES: readonly Tone[] = ['info', 'ok', 'bad', 'warn'];
const STATUS_TONES: readonly Tone[] = ['info', 'accent', 'ok', 'bad', 'warn', 'warn'];
const STATE_SIGNS = ['●', '✓', '✗', '⊘'] as const;
const STATUS_SIGNS = ['●', '◷', '✓', '✗', '⊘', '◌'] as const;

/** A run's state with its sign. */
export const stateText = (stateCd: number): string => `${STATE_SIGNS[stateCd] ?? '?'} ${STATES[stateCd] ?? stateCd}`;
export const stateTone = (stateCd: number): Tone => STATE_TONES[stateCd] ?? 'plain';
/** A node's status as a sign. */
export const statusSign = (statusCd: number): string => STATUS_SIGNS[statusCd] ?? '?';
export const statusTone = (statusCd: number): Tone => STATUS_TONES[statusCd] ?? 'plain';

const VERDICT_TONES: Readonly<Record<string, Tone>> = {
  STARTED: 'ok',
  NO_MATCH: 'warn',
  DUPLICATE: 'dim',
  BAD_SIGNATURE: 'bad',
  STALE: 'bad',
};
export const verdictTone = (verdict: string): Tone => VERDICT_TONES[verdict] ?? 'plain';
