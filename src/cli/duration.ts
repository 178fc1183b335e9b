import { usage } from './exit.ts';

const SIMPLE = /^(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+)ms)?$/i;
const ISO = /^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;

/** Milliseconds of `90s`, `1h30m`, `PT10M`, or plain seconds: `90`. */
export function durationMs(text: string, option: string): number {
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * 1000;
  const parts = SIMPLE.exec(text) ?? ISO.exec(text);
  if (parts === null || parts.slice(1).every((part) => part === undefined))
    throw usage(`${option} takes a duration, not “${text}”.`, 'for example: 90s, 10m, 1h30m or PT10M');
  const [days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0] = parts
    .slice(1)
    .map((part) => Number(part ?? 0));
  return (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000 + milliseconds;
}

/** The same as an ISO 8601 duration, which is what the API takes. */
export const isoDuration = (text: string, option: string): string => `PT${durationMs(text, option) / 1000}S`;
