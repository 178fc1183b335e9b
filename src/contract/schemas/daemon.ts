import Type from 'typebox';
import { Timestamp } from './common.ts';

export const Health = Type.Object({
  status: Type.Enum(['ok', 'unavailable']),
  version: Type.String(),
  daemonId: Type.String({ description: 'Tells daemons apart: another one with each start. Also in `daemon.json`.' }),
});

export const FileQuery = Type.Object({
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'File name to keep.' })),
});
export const FileReference = Type.Object({
  fileId: Type.String({ description: 'What an input of type `file` takes.' }),
  name: Type.String(),
  contentType: Type.String(),
  size: Type.Integer({ description: 'Bytes.' }),
  sha256: Type.String({ description: 'In hexadecimal.' }),
  createdAt: Timestamp,
});
