// The random numbers of NumPy's default_rng: its SeedSequence, its PCG64 and its ziggurat, so that
// a seed means the same problem here as in the Python package.

const WORD_SPAN = 2 ** 32;
const SPAN_INVERSE = 2 ** -32;

/** Four 32-bit words that depend on every word of the entropy (SeedSequence's pool). */
function entropyPool(words) {
  let hash = 0x43b0d7e5;
  const scramble = (word) => {
    const mixed = word ^ hash;
    hash = Math.imul(hash, 0x931e8875);
    const product = Math.imul(mixed, hash);
    return product ^ (product >>> 16);
  };
  const blend = (x, y) => {
    const mixed = Math.imul(x, 0xca01f9dd) - Math.imul(y, 0x4973f715);
    return mixed ^ ((mixed | 0) >>> 16);
  };
  const pool = [0, 1, 2, 3].map((i) => scramble(i < words.length ? words[i] : 0));
  for (let from = 0; from < 4; from++) {
    for (let to = 0; to < 4; to++) {
      if (from !== to) pool[to] = blend(pool[to], scramble(pool[from]));
    }
  }
  for (let from = 4; from < words.length; from++) {
    for (let to = 0; to < 4; to++) pool[to] = blend(pool[to], scramble(words[from]));
  }
  return pool;
}

/** The eight 32-bit words that SeedSequence gives PCG64. */
function seedWords(words) {
  const pool = entropyPool(words);
  let hash = 0x8b51f9dd;
  return Uint32Array.from({ length: 8 }, (_, i) => {
    const mixed = pool[i % 4] ^ hash;
    hash = Math.imul(hash, 0x58f38ded);
    const product = Math.imul(mixed, hash);
    return product ^ (product >>> 16);
  });
}

/** The upper word of a 64-bit product, given its lower word. */
function upperWord(a, b, lower) {
  // The double a * b is within 2^10 of the product, so rounding this quotient is exact.
  return Math.floor((a * b - lower) * SPAN_INVERSE + 0.5);
}

/** exp(x) in units of 2^-128, right to 2^-100, for multiples x of 2^-60 from -8 to 0. */
function fixedExp(x) {
  // exp(x) = exp(x / 2^12)^(2^12), the inner one by its series.
  const inner = BigInt(x * 2 ** 60) << 56n;
  let term = 1n << 128n;
  let sum = term;
  for (let k = 1n; k <= 11n; k++) {
    term = ((term * inner) >> 128n) / k;
    sum += term;
  }
  for (let k = 0; k < 12; k++) sum = (sum * sum) >> 128n;
  return sum;
}

/** exp(x) correctly rounded, where browsers' Math.exp may differ in the last bit. */
function roundedExp(x) {
  return Number(fixedExp(x)) * 2 ** -128;
}

/** log(x) correctly rounded, for x from 0.001 to 0.99. */
function roundedLog(x) {
  const rough = Math.log(x);
  const back = fixedExp(rough);
  const exact = BigInt(x * 2 ** 64) << 64n;
  // log(x / back) to third order, which here is beyond any rounding.
  const rest = ((exact - back) << 129n) / (exact + back);
  return rough + Number(rest) * 2 ** -128;
}

let zigguratCache = null;

/** The 256 layers under exp(-x^2 / 2): widths over 2^52, heights and sure-acceptance bounds. */
function zigguratTables() {
  if (zigguratCache !== null) return zigguratCache;
  const tail = 3.6541528853610088;
  // The area of a layer, as rounded in NumPy's tables. They were made in double precision by the
  // recursion below, whose rounding errors grow to 1e-14: it takes the same roundings to give the
  // same numbers, hence the correctly rounded functions.
  const area = 0.004928673233974652;
  const unit = 2 ** 52;
  const width = new Float64Array(256);
  const height = new Float64Array(256);
  const sure = new Float64Array(256);
  let x = tail;
  height[255] = roundedExp(-0.5 * x * x);
  width[255] = x / unit;
  for (let i = 254; i >= 1; i--) {
    const outer = x;
    x = Math.sqrt(-2 * roundedLog(area / outer + height[i + 1]));
    width[i] = x / unit;
    height[i] = roundedExp(-0.5 * x * x);
    // 0.502 units above the true value: the one entry that NumPy's tables round the wrong way.
    if (i === 38) height[i] += 2 ** -53;
    // Adding 2^52 and taking it away rounds to an integer, ties to even.
    sure[i + 1] = (x / outer) * unit + unit - unit;
  }
  // Layer 0 is the base with the tail; layer 1 has no part that is sure.
  width[0] = area / height[255] / unit;
  height[0] = 1;
  sure[0] = Math.floor(((tail * height[255]) / area) * unit);
  zigguratCache = { tail, width, height, sure };
  return zigguratCache;
}

/** The stream of numpy.random.default_rng(words), for integers 0 <= word < 2^32. */
export class Generator {
  constructor(words) {
    for (const word of words) {
      if (!Number.isInteger(word) || word < 0 || word >= WORD_SPAN) {
        throw new RangeError(`a word of a seed must be an integer from 0 to 2^32 - 1, got ${word}`);
      }
    }
    const [a, b, c, d, e, f, g, h] = Array.from(seedWords(words), BigInt);
    // Two 128-bit numbers, each as two 64-bit halves, the upper first, of two words, lower first.
    const start = (b << 96n) | (a << 64n) | (d << 32n) | c;
    const sequence = (f << 96n) | (e << 64n) | (h << 32n) | g;
    const increment = BigInt.asUintN(128, (sequence << 1n) | 1n);
    const limbs = (value) => Uint32Array.from({ length: 4 }, (_, i) =>
      Number((value >> BigInt(32 * i)) & 0xffffffffn));
    this.increment = limbs(increment);
    // PCG's own seeding steps from 0, which gives the increment, adds the start and steps again.
    this.position = limbs((increment + start) * 0x2360ed051fc65da44385df649fccf645n + increment);
    this.output = new Uint32Array(2);
    this.layers = zigguratTables();
  }

  /** Draw the next 64 random bits into output: the lower word, then the upper. */
  next() {
    // The 128-bit position times PCG's constant plus the increment, in four 32-bit limbs.
    const position = this.position;
    const increment = this.increment;
    const s0 = position[0];
    const s1 = position[1];
    const s2 = position[2];
    const s3 = position[3];
    const m0 = 0x9fccf645;
    const m1 = 0x4385df64;
    const m2 = 0x1fc65da4;
    const m3 = 0x2360ed05;
    const l00 = Math.imul(s0, m0) >>> 0;
    const l01 = Math.imul(s0, m1) >>> 0;
    const l10 = Math.imul(s1, m0) >>> 0;
    const l02 = Math.imul(s0, m2) >>> 0;
    const l11 = Math.imul(s1, m1) >>> 0;
    const l20 = Math.imul(s2, m0) >>> 0;
    const sum0 = l00 + increment[0];
    const sum1 = Math.floor(sum0 * SPAN_INVERSE) + upperWord(s0, m0, l00)
      + l01 + l10 + increment[1];
    const sum2 = Math.floor(sum1 * SPAN_INVERSE) + upperWord(s0, m1, l01) + upperWord(s1, m0, l10)
      + l02 + l11 + l20 + increment[2];
    const sum3 = Math.floor(sum2 * SPAN_INVERSE) + upperWord(s0, m2, l02) + upperWord(s1, m1, l11)
      + upperWord(s2, m0, l20) + Math.imul(s0, m3) + Math.imul(s1, m2) + Math.imul(s2, m1)
      + Math.imul(s3, m0) + increment[3];
    // Storing keeps the lower 32 bits of each sum; all are well below 2^53.
    position[0] = sum0;
    position[1] = sum1;
    position[2] = sum2;
    position[3] = sum3;
    // The halves of the position combined, and turned by its upper six bits.
    const output = this.output;
    const even = position[0] ^ position[2];
    const odd = position[1] ^ position[3];
    const turn = position[3] >>> 26;
    const lower = turn < 32 ? even : odd;
    const upper = turn < 32 ? odd : even;
    const shift = turn & 31;
    // Two shifts to the left, because one by 32 would be one by 0.
    output[0] = (lower >>> shift) | ((upper << 1) << (31 - shift));
    output[1] = (upper >>> shift) | ((lower << 1) << (31 - shift));
  }

  /** A number from 0 to 1, as random() in NumPy. */
  uniform() {
    this.next();
    return (this.output[1] * 2 ** 21 + (this.output[0] >>> 11)) * 2 ** -53;
  }

  /** A standard normal number. */
  normal() {
    const { tail, width, height, sure } = this.layers;
    const output = this.output;
    for (;;) {
      this.next();
      const lower = output[0];
      const layer = lower & 255;
      const place = (output[1] & 0x1fffffff) * 2 ** 23 + (lower >>> 9);
      const x = (lower & 256) === 0 ? place * width[layer] : -place * width[layer];
      if (place < sure[layer]) return x;
      if (layer === 0) {
        for (;;) {
          const beyond = -(1 / tail) * Math.log1p(-this.uniform());
          const test = -Math.log1p(-this.uniform());
          if (test + test > beyond * beyond) {
            return (lower & 0x20000) === 0 ? tail + beyond : -(tail + beyond);
          }
        }
      }
      const rise = height[layer - 1] - height[layer];
      if (rise * this.uniform() + height[layer] < Math.exp(-0.5 * x * x)) return x;
    }
  }

  /** The next standard normal numbers, so many. */
  normals(count) {
    const values = new Float64Array(count);
    for (let i = 0; i < count; i++) values[i] = this.normal();
    return values;
  }
}

/** The stream for one purpose and seed: default_rng([*text.encode(), seed]). */
export function purpose(text, seed) {
  if (!Number.isInteger(seed) || seed < 0 || seed >= WORD_SPAN) {
    throw new RangeError(`the seed must be an integer from 0 to 4294967295, got ${seed}`);
  }
  return new Generator([...new TextEncoder().encode(text), seed]);
}
