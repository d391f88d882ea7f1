// Objects whose validation took seconds to hours when it compared each part with every other; these tests then did not end in
// time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Steps } from '../../base/steps.ts';
import { Field } from '../field-error.ts';
import { validateAll } from './complaints-fixture.ts';
import { validateCertificateSigningRequest } from './certificates.ts';
import { validateClusterTrustBundle } from './cluster-trust-bundle.ts';
import { validateStatefulSet } from './stateful-set.ts';
import { validateStorageClass } from './storage-class.ts';

function causes(validate: (object: never, field: Field) => Steps<void> | void, object: object): string[] {
  const root = Field.root();
  validateAll(validate(object as never, root));
  return root.errors.map(({ field, text }) => `${field}: ${text.slice(0, 200)}`);
}

const many = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at));
const base64 = (text: string): string => Buffer.from(text).toString('base64');
const block = (type: string, body = 'YWJj'): string => `-----BEGIN ${type}-----\n${body}\n-----END ${type}-----\n`;
/** The shortest request: version, empty subject, an empty key, and an empty signature. */
const FRAME_HEX =
  '301f' + '3012' + '020100' + '3000' + '300b' + '300506032a0304' + '03020000' + '300506032a0304' + '03020000';
const FRAME = Buffer.from(FRAME_HEX, 'hex').toString('base64');
const begins = (type: string): string => `-----BEGIN ${type}-----\n`.repeat(60_000);

function signingRequest(spec: object, status?: object): object {
  const request = base64(block('CERTIFICATE REQUEST', FRAME));
  const usages = ['client auth'];
  return { metadata: { name: 'a' }, spec: { request, usages, signerName: 'example.com/a', ...spec }, status };
}

function requestCauses(spec: object, status?: object): string[] {
  return causes(validateCertificateSigningRequest, signingRequest(spec, status));
}

test('a certificate request is the first PEM block and must be well-formed', () => {
  assert.deepEqual(requestCauses({}), []);
  const wrong = [
    'rubbish',
    block('CERTIFICATE'),
    block('CERTIFICATE') + block('CERTIFICATE REQUEST', FRAME),
    block('CERTIFICATE REQUEST', ''),
    block('CERTIFICATE REQUEST', 'YWJj'),
    block('CERTIFICATE REQUEST', Buffer.alloc(1 << 20, '0500', 'hex').toString('base64')),
    block('CERTIFICATE REQUEST', Buffer.from(`${FRAME_HEX}0500`, 'hex').toString('base64')),
    block('CERTIFICATE REQUEST', 'rubbish!'),
    begins('CERTIFICATE REQUEST'),
  ];
  for (const text of wrong)
    assert.match(
      requestCauses({ request: base64(text) }).join(),
      /^spec\.request: Invalid value: "/,
      text.slice(0, 99),
    );
});

test('an issued certificate must be a chain of certificates', () => {
  const problemOf = (text: string): string => requestCauses({}, { certificate: base64(text) }).join();
  const place = 'status.certificate: Invalid value: "<certificate data>": ';
  assert.equal(problemOf(block('CERTIFICATE') + block('CERTIFICATE')), '');
  assert.equal(problemOf(begins('CERTIFICATE')), `${place}must contain at least one CERTIFICATE PEM block`);
  assert.equal(problemOf(many(60_000, (at) => `-----BEGIN ${at}-----\n`).join('')), problemOf('rubbish'));
  assert.equal(problemOf(block('A')), `${place}only CERTIFICATE PEM blocks are allowed, found "A"`);
  assert.equal(problemOf(block('CERTIFICATE', 'a: b\n\nYWJj')), `${place}no PEM block headers are permitted`);
});

test('repeated conditions of a certificate request are found behind many distinct ones', () => {
  const conditions = many(60_000, () => ({ type: 'a', status: 'True' }));
  const old = signingRequest({}, { conditions: many(60_000, (at) => ({ type: `t${at}`, status: 'True' })) });
  const found = causes(
    (request, field) => validateCertificateSigningRequest(request, field, old as never),
    signingRequest({}, { conditions }),
  );
  assert.equal(found[0], 'status.conditions[1].type: Duplicate value: "a"');
});

test('a trust bundle may contain only certificates', () => {
  const problemsOf = (trustBundle: string): string[] =>
    causes(validateClusterTrustBundle, { metadata: { name: 'a' }, spec: { trustBundle } });
  const place = 'spec.trustBundle: Invalid value: "<value omitted>": ';
  assert.deepEqual(problemsOf(block('CERTIFICATE')), []);
  assert.deepEqual(problemsOf(begins('CERTIFICATE')), [`${place}at least one trust anchor must be provided`]);
  assert.deepEqual(problemsOf(block('CERTIFICATE') + block('A') + block('CERTIFICATE', 'a: b\n\nYWJj')), [
    `${place}entry 1 has bad block type: A`,
    `${place}entry 2 has PEM block headers`,
  ]);
});

test('topologies of a storage class are duplicates in any order of their values', () => {
  const causesOf = (allowedTopologies: object[]): string[] =>
    causes(validateStorageClass, { provisioner: 'a', volumeBindingMode: 'Immediate', allowedTopologies });
  const term = (...values: string[]): object => ({ matchLabelExpressions: [{ key: 'a', values }] });
  const duplicate = (at: number): string => `allowedTopologies[${at}].matchLabelExpressions: Duplicate value: ""`;
  assert.deepEqual(causesOf(many(50_000, (at) => term(`v${at}`))), []);
  assert.equal(causesOf(many(200_000, () => ({}))).length, 1000);
  const repeated = causesOf([term('a', 'b'), term('b', 'a'), term('c'), term('a', 'b')]);
  assert.deepEqual(repeated, [duplicate(1), duplicate(3), duplicate(3)]);
  assert.deepEqual(causesOf([{}]), [duplicate(0)]);
});

test('claims of a stateful set replace volumes of the same name', () => {
  const labels = { a: 'b' };
  const container = { name: 'a', image: 'a', volumeMounts: [{ name: 'v1', mountPath: '/a' }] };
  const found = causes(validateStatefulSet, {
    metadata: { name: 'a' },
    spec: {
      selector: { matchLabels: labels },
      volumeClaimTemplates: many(40_000, (at) => ({ metadata: { name: `v${at}` } })),
      template: {
        metadata: { labels },
        spec: { containers: [container], volumes: many(40_000, (at) => ({ name: `w${at}`, emptyDir: {} })) },
      },
    },
  });
  assert.doesNotMatch(found.join('\n'), /volumeMounts/);
});
