import type { Trigger } from '../../../engine/flow.ts';
import type { Mail } from './mail.ts';

type EmailTrigger = Extract<Trigger, { type: 'email' }>;

/** Whether a trigger's filters let a message pass; upper and lower case are the same to them. */
export function passes({ subjectContains = '', senderMatches = '' }: EmailTrigger, mail: Mail): boolean {
  return (
    mail.subject.toLowerCase().includes(subjectContains.toLowerCase()) &&
    (senderMatches === '' || matches(senderMatches.toLowerCase(), mail.sender.toLowerCase()))
  );
}

/** `*` stands for anything; `@acme.example` for all of that domain; anything else is the whole address. */
function matches(pattern: string, address: string): boolean {
  const [first = '', ...rest] = (pattern.startsWith('@') ? `*${pattern}` : pattern).split('*');
  const last = rest.pop();
  if (last === undefined) return address === first;
  if (!address.startsWith(first) || address.length < first.length + last.length || !address.endsWith(last))
    return false;
  let from = first.length;
  const until = address.length - last.length;
  for (const part of rest) {
    const at = address.indexOf(part, from);
    if (at === -1 || at + part.length > until) return false;
    from = at + part.length;
  }
  return true;
}
