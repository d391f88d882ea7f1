/** Rules over one schema, each with the maximum cost by upstream's estimator (apiextensions-apiserver schema/cel, v0.36). */
import type { JSONSchemaProps } from '../../gen/apiextensions-v1.ts';

/** The schema of `self`. */
export const ESTIMATE_SCHEMA: JSONSchemaProps = {
  type: 'object',
  properties: {
    s: { type: 'string' },
    s10: { type: 'string', maxLength: 10 },
    n: { type: 'integer' },
    m: { type: 'integer' },
    f: { type: 'number' },
    on: { type: 'boolean' },
    e: { type: 'string', enum: ['One', 'Three', 'Two'] },
    ios: { 'x-kubernetes-int-or-string': true },
    bytes: { type: 'string', format: 'byte', maxLength: 40 },
    dur: { type: 'string', format: 'duration' },
    time: { type: 'string', format: 'date-time' },
    date: { type: 'string', format: 'date' },
    o: {
      type: 'object',
      properties: {
        a: { type: 'string', maxLength: 10 },
        b: { type: 'string' },
        n: { type: 'integer' },
      },
    },
    o2: {
      type: 'object',
      properties: {
        a: { type: 'string', maxLength: 10 },
        b: { type: 'string' },
        n: { type: 'integer' },
      },
    },
    ls: { type: 'array', items: { type: 'string' } },
    l10: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 10 },
    li: { type: 'array', items: { type: 'integer' }, maxItems: 10 },
    lo: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          a: { type: 'string', maxLength: 10 },
          b: { type: 'string' },
          n: { type: 'integer' },
        },
      },
      maxItems: 5,
    },
    lb: { type: 'array', items: { type: 'boolean' }, maxItems: 4 },
    ll: {
      type: 'array',
      items: { type: 'array', items: { type: 'string', maxLength: 10 }, maxItems: 3 },
      maxItems: 4,
    },
    mp: { type: 'object', additionalProperties: { type: 'integer' } },
    m10: {
      type: 'object',
      additionalProperties: { type: 'string', maxLength: 10 },
      maxProperties: 10,
    },
    mo: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          a: { type: 'string', maxLength: 10 },
          b: { type: 'string' },
          n: { type: 'integer' },
        },
      },
      maxProperties: 5,
    },
    ip: { type: 'string', maxLength: 45 },
  },
};

/** A cost and a rule per line. */
export const ESTIMATES: string = String.raw`
0 true
3 self.s == 'abc'
8 self.s10 == self.s
2 self.n == 1
4 self.n == self.m
8 self.n < self.m && self.n >= 0
3 self.f > 1.5
2 self.on
3 !self.on
5 self.on ? self.s == 'a' : self.s10 == 'b'
1 has(self.s)
2 has(self.o.a)
4 !has(self.o) || has(self.o.a)
3 has(self.s) == has(self.s10)
6 (has(self.s) && !has(self.s10)) || (!has(self.s) && has(self.s10))
5 has(self.s) ? self.s.size() > 1 : true
14 self.e in ['One', 'Two']
15 self.s in ['a', 'b', 'c']
1048579 self.s in self.ls
14 self.s10 in self.l10
3 'a' in self.m10
4 self.m10['a'] == 'x'
4 self.l10[0] == 'x'
5 self.lo[0].a == 'x'
5 self.mo['k'].b == 'y'
4 size(self.s) < 10
4 self.s.size() < 10
4 self.l10.size() == 3
14 self.s == self.s10 + 'abc'
13 self.s10 + self.s10 == 'x'
16 self.l10 + self.l10 == ['a']
69 (self.l10 + ['a']).exists(x, x == 'b')
5 self.lo == self.lo
44943 self.mp == self.mp
2 self.s != ''
3 self.s < 'b'
3 self.s.startsWith('abc')
8 self.s.endsWith(self.s10)
629148 self.s.contains('abcdefghijk')
20 self.s10.contains(self.s10)
629148 self.s.matches('^[a-z]+$')
37 self.s10.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')
53 self.l10.all(x, x == 'a')
53 self.l10.all(x, x.startsWith('abc'))
63 self.l10.exists(x, x == 'a')
44 self.l10.exists_one(x, x == 'a')
53 self.li.all(x, x > 0)
33 self.lo.all(x, has(x.a) == has(x.b))
43 self.lo.all(x, has(x.a) && x.a.size() > 2)
288 self.lo.all(x, self.lo.exists_one(y, x.a == y.a))
85 self.lo.map(x, x.a).size() == 2
109 self.lo.map(x, x.a).exists(y, y == 'a')
95 self.lo.filter(x, x.n > 1).size() == 2
124 self.lo.filter(x, x.n > 1).all(y, y.a == 'q')
100 self.lo.map(x, x.n > 1, x.a).size() == 2
53 [has(self.s), has(self.s10)].filter(x, x == true).size() <= 1
20 [has(self.s), has(self.s10)].exists_one(x, x)
43 self.m10.all(k, k == 'a')
183 self.m10.all(k, size(k) < 63 && k.matches("^[a-zA-Z0-9](?:[-a-zA-Z0-9]*[a-zA-Z0-9])?$"))
93 self.m10.all(k, self.m10[k].size() < 5)
93 self.m10.exists(k, self.m10[k] == 'z')
48 self.mo.all(k, self.mo[k].a == 'z')
2246948 self.mp.all(k, k.startsWith('a'))
83 self.ll.all(l, l.all(x, x == 'a'))
90 self.ll.map(l, l.size()).exists(n, n == 3)
26 [1, 2, 3].all(x, x > 0)
23 ['abc', 'defg'].all(x, x == self.s)
39 {'a': 1, 'b': 2}.all(k, k == 'a')
32 {'a': 'x'}['a'] == 'x'
5242878 self.ls.all(x, x == 'a')
4 self.ls.size() < 3
13 self.li.sum() == 3
12 self.li.isSorted()
52 self.l10.isSorted()
53 self.l10.max() == 'a'
53 self.l10.indexOf('a') == 2
314576 self.s.indexOf('a') == 2
7 self.s10.lowerAscii() == 'abc'
314576 self.s.trim() == 'a'
7 self.s10.substring(0, 3) == 'abc'
11 self.s10.replace('a', 'bb') == 'x'
16 self.s10.replace('ab', 'b') == self.s
171 self.s10.split(',').all(x, x == 'a')
12 self.s10.split(',').size() == 2
629150 self.s.split('.', 2).size() == 2
44 self.l10.join(',') == 'a'
84 self.l10.join() == self.s
13 self.s10.find('[0-9]+') == '1'
14 self.s10.findAll('[0-9]+').size() == 2
253 self.s10.findAll('[0-9]+').all(x, int(x) > 2)
8 url(self.s10).getHost() == 'a'
3 isURL(self.s)
16 url(self.s10) == url(self.s10)
20 isIP(self.ip)
22 ip(self.ip).family() == 4
22 ip(self.ip) == ip('10.0.0.1')
38 ip.isCanonical(self.ip)
20 isCIDR(self.ip)
25 cidr(self.ip).containsIP('10.0.0.1')
44 cidr(self.ip).containsIP(ip(self.ip))
47 cidr(self.ip).containsCIDR(self.ip)
23 cidr(self.ip).ip().family() == 4
22 cidr(self.ip).prefixLength() <= 24
6 isQuantity(self.s10)
8 quantity(self.s10).isGreaterThan(quantity('1'))
8 quantity(self.s10) == quantity('1')
9 quantity(self.s10).compareTo(quantity('1')) > 0
8 semver(self.s10).major() == 1
6 isSemver(self.s10)
5 duration(self.s10) > duration('1s')
4 self.dur > duration('1s')
4 self.dur == duration('1s')
5 timestamp(self.s10) < timestamp('2020-01-01T00:00:00Z')
4 self.time > timestamp('2020-01-01T00:00:00Z')
4 self.time.getFullYear() == 2020
6 self.date == self.time
4 self.dur.getSeconds() > 3
4 int(self.s10) == 3
4 string(self.n) == '3'
5 string(self.n).size() == 2
4 double(self.n) > 1.0
3 self.bytes == b'abc'
7 string(self.bytes) == 'abc'
7 bytes(self.s10) == b'abc'
4 self.bytes.size() < 3
4 type(self.ios) == int
3 self.ios == 3
943725 type(self.ios) == int ? self.ios > 3 : self.ios.matches('^[0-9]+%$')
8 type(self.ios) == string ? self.ios.size() > 3 : self.ios > 3
4 dyn(self.s10) == 'a'
3 dyn(self.n) == 3
17 self.s10.format(['a']) == 'b'
16 '%s-%d'.format([self.s10, self.n]) == 'a'
7 strings.quote(self.s10) == 'a'
33 sets.contains(self.l10, ['a', 'b'])
105 sets.intersects(self.l10, self.l10)
2097163 sets.equivalent(self.ls, ['a'])
132 format.dns1123Label().validate(self.s10).hasValue()
10066341 !format.dns1123Label().validate(self.s).hasValue()
136 size(self.s10) == 0 || format.dns1123Label().validate(self.s10) == null
134 !format.named('uri').value().validate(self.s10).hasValue()
4 self.?s.orValue('') == 'a'
4 self.?o.?a.hasValue()
5 self.?o.?a.orValue('x') == 'x'
4 self.?n.orValue(3) > 2
5 self.l10[?0].orValue('x') == 'a'
4 self.m10[?'a'].hasValue()
1844674407370955268 optional.of(self.s10) == optional.none()
4 optional.ofNonZeroValue(self.s10).hasValue()
1844674407370955267 self.?s10 == optional.none()
53 self.l10.all(i, v, v == 'a')
53 self.l10.all(i, v, i > 2)
53 self.m10.all(k, v, k == v)
63 self.m10.exists(k, v, v == 'a')
44 self.l10.existsOne(i, v, v == 'a')
145 self.l10.transformList(i, v, v).size() == 2
234 self.l10.transformList(i, v, v + 'a').all(x, x == 'q')
165 self.l10.transformList(i, v, i > 1, v).size() == 2
125 self.m10.transformMap(k, v, v + 'a').size() == 2
134 self.m10.transformMap(k, v, v != 'b', v).all(k, k == 'x')
9 self.s10 == string(self.n)
6 self.n + self.m == 3
4 self.n % 2 == 0
4 -self.n < 3
5 self.n * 2 - 1 > 0
11 self.s10.lowerAscii().matches('^a+$')
78 self.lo.all(x, x.a.lowerAscii() == x.b)
264 self.lo.map(x, {'k': x.a}).all(y, y['k'] == 'a')
1844674407370955429 self.l10.filter(x, x.startsWith('a')).join(',').size() < 100
1844674407370955498 self.l10.map(x, x + x).join(',') == 'a'
314577 self.s == oldSelf.s
5 self.l10 == oldSelf.l10
163 self.l10.all(x, x in oldSelf.l10)
168 oldSelf.l10.all(x, x in self.l10) && self.n >= oldSelf.n
4194305 (self.on ? self.l10 : self.ls).all(x, x == 'a')
5 (self.on ? 'ab' : 'cde') == self.s
25 (self.on ? ['ab'] : ['cde', 'x']).all(x, x == self.s)
2465 size(self.l10.map(x, self.l10.map(y, x + y))) > 3
2224 self.l10.map(x, self.l10.filter(y, x == y)).all(z, z.size() == 1)
5 self.e == 'One' ? has(self.s) : !has(self.s)
314581 self.s.upperAscii().startsWith(self.s10)
53 self.l10.lastIndexOf('x') == 3
13 self.li.min() > 2
329853068907 self.ls.join(',').size() < 100
1673 self.l10.all(x, !self.l10.exists(y, y != x && y.startsWith(x)))
`;
