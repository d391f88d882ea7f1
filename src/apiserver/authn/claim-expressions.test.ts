import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readClaimExpressions } from './claim-expressions.ts';

const claims = { sub: 's', email: 'a@b', email_verified: true, roles: ['r', ''], tenant: 7, hd: 'b', text: 't' };

test('a user made of claims by expressions', () => {
  const read = readClaimExpressions(
    {
      claimMappings: {
        username: { expression: 'claims.?email_verified.orValue(true) ? claims.email + ":u" : claims.sub' },
        groups: { expression: 'claims.roles.map(r, r == "" ? r : "g:" + r)' },
        uid: { expression: 'string(claims.tenant)' },
        extra: [
          { key: 'acme.io/one', valueExpression: 'claims.text' },
          { key: 'acme.io/many', valueExpression: 'claims.roles' },
          { key: 'acme.io/none', valueExpression: 'has(claims.nothing) ? claims.nothing : null' },
        ],
      },
    },
    'jwt[0]',
  );
  assert.equal(read.username?.(claims), 'a@b:u');
  assert.equal(read.username?.({ ...claims, email_verified: false }), 's');
  assert.deepEqual(read.groups?.(claims), ['g:r']);
  assert.equal(read.uid?.(claims), '7');
  assert.deepEqual(read.extra(claims), { 'acme.io/one': ['t'], 'acme.io/many': ['r'] });
  assert.throws(() => read.groups?.({ roles: [1] }), /./);
  assert.throws(() => read.uid?.({}), /no such key: tenant/);
  const number = readClaimExpressions({ claimMappings: { username: { expression: 'claims.tenant' } } }, 'jwt[0]');
  assert.throws(() => number.username?.(claims), /claimMappings.username.expression: must return a string/);
});

test('rules about claims and users', () => {
  const read = readClaimExpressions(
    {
      claimValidationRules: [
        { claim: 'plain', requiredValue: 'x' },
        { expression: 'claims.hd == "b"', message: 'the domain must be b' },
        { expression: 'claims.tenant > 5' },
      ],
      userValidationRules: [
        { expression: '!user.username.startsWith("system:")', message: 'reserved' },
        { expression: 'user.groups.all(g, g != "system:masters")' },
        { expression: '"k" in user.extra ? user.extra["k"] == ["v"] : user.uid == ""' },
      ],
    },
    'jwt[0]',
  );
  read.checkClaims(claims);
  assert.throws(() => read.checkClaims({ ...claims, hd: 'c' }), {
    message: 'error evaluating claim validation expression: the domain must be b',
  });
  assert.throws(() => read.checkClaims({ ...claims, tenant: 5 }), {
    message: "error evaluating claim validation expression: validation expression 'claims.tenant > 5' failed",
  });
  assert.throws(() => read.checkClaims({ tenant: 7 }), /resulted in error: no such key: hd/);
  read.checkUser({ name: 'a', groups: ['b'] });
  read.checkUser({ name: 'a', uid: 'u', groups: [], extra: { k: ['v'] } });
  assert.throws(() => read.checkUser({ name: 'system:a', groups: [] }), {
    message: 'error evaluating user validation expression: reserved',
  });
  assert.throws(() => read.checkUser({ name: 'a', groups: ['system:masters'] }), /validation expression .* failed/);
  assert.throws(() => read.checkUser({ name: 'a', uid: 'u', groups: [] }), /failed/);
});
