import Type from 'typebox';

export const SignInQuery = Type.Object({
  returnTo: Type.Optional(
    Type.String({
      maxLength: 2000,
      description:
        'A page whose origin is among `allowedOrigins`: it gets `access_token`, `token_type` and `expires_in` in the fragment of its address.',
    }),
  ),
});
const Sent = Type.Optional(Type.String({ maxLength: 8000 }));
export const CallbackQuery = Type.Object({
  code: Sent,
  state: Sent,
  iss: Sent,
  error: Sent,
  error_description: Sent,
});
export const SignInSettings = Type.Object({
  issuer: Type.String({ description: 'The OpenID provider.' }),
  clientId: Type.String({ description: 'The client that programs sign in as.' }),
  clientSecret: Type.Optional(Type.String({ description: 'Of installed programs, for providers that ask for one.' })),
  scopes: Type.Array(Type.String()),
  parameters: Type.Record(Type.String(), Type.String(), { description: 'More parameters of the request to sign in.' }),
  token: Type.Enum(['access', 'id'], { description: 'Which of the tokens is the bearer token.' }),
});
