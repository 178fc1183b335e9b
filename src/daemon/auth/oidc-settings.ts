import Type, { type Static } from 'typebox';
import { ROLE_NAMES } from '../../contract/permissions.ts';
import { isLoopback } from '../http/hosts.ts';

const Text = Type.String({ minLength: 1, maxLength: 2000 });
const Role = Type.Enum([...ROLE_NAMES]);
const OrganizationRole = Type.Enum(ROLE_NAMES.filter((name) => name !== 'system'));
const Address = Type.String({ pattern: '^https?://' });

/** `oidc` in the settings file: who vouches for people, and what their claims mean here (docs/authentication.md). */
export const OidcSettings = Type.Object(
  {
    /** As the provider writes it itself, to the last slash. */
    issuer: Address,
    clientId: Text,
    clientSecret: Type.Optional(Text),
    /** What a token must be meant for; default: the client id. */
    audience: Type.Optional(Type.Union([Text, Type.Array(Text, { minItems: 1 })])),
    scopes: Type.Optional(Type.Array(Text)),
    /** More parameters of the request to sign in, such as `resource` or `audience`. */
    parameters: Type.Optional(Type.Record(Text, Text)),
    /** Which of the provider's tokens is the bearer token; default: the access token. */
    token: Type.Optional(Type.Enum(['access', 'id'])),
    /** Seconds that clocks may differ by. */
    clockSkew: Type.Optional(Type.Integer({ minimum: 0, maximum: 300 })),
    /** Where browsers find the daemon; default: the address that they called. */
    publicUrl: Type.Optional(Address),
    /** The organization of everybody; default: `default`, unless a claim says it. */
    organization: Type.Optional(Text),
    organizationClaim: Type.Optional(Text),
    /** Values of that claim -> organizations; without it they are ids of organizations. */
    organizations: Type.Optional(Type.Record(Text, Text)),
    rolesClaim: Type.Optional(Text),
    /** Values of that claim -> roles; without it they are names of roles (never `system`). */
    roles: Type.Optional(Type.Record(Text, Type.Union([Role, Type.Array(Role)]))),
    /** Roles of everybody who signs in; default: none. */
    defaultRoles: Type.Optional(Type.Array(OrganizationRole)),
    /** The client that the command line signs in as, where it is another one. */
    cli: Type.Optional(
      Type.Object(
        { clientId: Type.Optional(Text), clientSecret: Type.Optional(Text) },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
);
export type OidcSettings = Static<typeof OidcSettings>;

/** What is wrong with settings that have the right form; undefined: nothing. */
export function oidcProblem({ issuer, organization, organizationClaim, organizations }: OidcSettings) {
  if (!URL.canParse(issuer)) return `oidc.issuer is no address: ${issuer}`;
  if (!isTrustworthy(new URL(issuer)))
    return 'oidc.issuer must begin with https://: over http anybody on the way could vouch for anybody (loopback excepted)';
  if (organization !== undefined && organizationClaim !== undefined)
    return 'oidc.organization and oidc.organizationClaim exclude each other: leave one out';
  if (organizations !== undefined && organizationClaim === undefined)
    return 'oidc.organizations needs oidc.organizationClaim, whose values it explains';
  return undefined;
}

/** HTTPS, or an address that never leaves this machine. */
export const isTrustworthy = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname.replace(/^\[(.*)\]$/, '$1')));
