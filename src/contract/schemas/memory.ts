import Type from 'typebox';
import { AnyJson, Closed, Nullable, OrganizationChoice, Timestamp } from './common.ts';

export const MemoryQuery = {
  processId: Type.Optional(
    Type.String({ maxLength: 64, description: "The flow whose memory is meant; left out: the organization's." }),
  ),
  ...OrganizationChoice,
};
export const Prefix = {
  prefix: Type.Optional(Type.String({ maxLength: 512, description: 'How the keys begin.' })),
};

export const Memory = Type.Object({
  key: Type.String(),
  value: AnyJson,
  scope: Type.Enum(['flow', 'organization']),
  processId: Nullable(Type.String({ description: 'The flow whose memory it is.' })),
  updatedAt: Timestamp,
});
export const FoundMemory = Type.Object({
  ...Memory.properties,
  score: Type.Number({ description: 'How well it fits: higher is better.' }),
});
export const SetMemoryBody = Closed({ value: AnyJson });
