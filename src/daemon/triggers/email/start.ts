import type { JsonObject } from '../../../engine/json.ts';
import type { StartRequest } from '../../runtime/door.ts';
import type { ActiveEmail } from '../active.ts';
import type { Mail } from './mail.ts';

/** Variables set by the email trigger (interface), and what else of a message flows may want. `files` are references. */
export const variablesOf = (mail: Mail, files: readonly JsonObject[]): JsonObject => ({
  emailSubject: mail.subject,
  emailBody: mail.text,
  emailSender: mail.sender,
  emailRecipients: mail.recipients,
  emailAttachments: files,
  emailMessageId: mail.messageId ?? null,
  emailDate: mail.date?.toISOString() ?? null,
  emailTruncated: mail.truncated || files.length < mail.attachments.length,
});

/** The start of a flow by a message; the instance names `trigger`. */
export const startOf = (active: ActiveEmail, trigger: JsonObject, data: JsonObject): StartRequest => {
  const { organizationId, processId, version, environment } = active;
  return { organizationId, processId, version, environment, data, trigger: { type: 'email', ...trigger } };
};
