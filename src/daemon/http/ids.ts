import type { ErrorCode } from '../../contract/errors.ts';
import { Refusal } from '../refusal.ts';

interface IdForm {
  readonly form: RegExp;
  readonly unknown: ErrorCode;
  readonly what: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/**
 * Ids by the name of their parameter. One of another form can belong to nothing: it is unknown, and never gets as far as a
 * file name. Process ids are UUIDs as flow files write them, in either case.
 */
const FORMS: Readonly<Record<string, IdForm>> = {
  processId: { form: new RegExp(UUID, 'i'), unknown: 'PROCESS_NOT_FOUND', what: 'flow' },
  processInstanceId: { form: UUID, unknown: 'INSTANCE_NOT_FOUND', what: 'instance' },
  fileId: { form: /^[0-9a-f]{32}$/, unknown: 'NOT_FOUND', what: 'file' },
  keyId: { form: /^[0-9A-Za-z]{1,64}$/, unknown: 'NOT_FOUND', what: 'key' },
  valueId: { form: UUID, unknown: 'NOT_FOUND', what: 'environment value' },
  taskId: { form: UUID, unknown: 'NOT_FOUND', what: 'task' },
  memoryKey: { form: /^[^\0-\x1f\x7f]{1,512}$/, unknown: 'NOT_FOUND', what: 'value in this memory' },
  webhookId: { form: UUID, unknown: 'NOT_FOUND', what: 'webhook' },
  deliveryId: { form: UUID, unknown: 'NOT_FOUND', what: 'delivery' },
  token: { form: /^[\w-]{16,128}$/, unknown: 'NOT_FOUND', what: 'webhook address' },
  connectionId: { form: UUID, unknown: 'NOT_FOUND', what: 'email connection' },
  organizationId: { form: /^[a-z0-9][a-z0-9-]{0,62}$/, unknown: 'NOT_FOUND', what: 'organization' },
};

/** Refuses an id of the wrong form with the code that an unknown one gets. */
export function checkId(name: string, id: string): void {
  const { form, unknown, what } = FORMS[name] as IdForm;
  if (!form.test(id)) throw new Refusal(unknown, `There is no ${what} with the ${nameOf(name)} that was given.`);
}

/** The refusal of an id that nothing bears, or only something of another organization. */
export function unknownId(name: string, id: string): Refusal {
  const { unknown, what } = FORMS[name] as IdForm;
  return new Refusal(unknown, `There is no ${what} with the ${nameOf(name)} ${id}.`);
}

const nameOf = (name: string): string => (name === 'memoryKey' ? 'key' : 'id');
