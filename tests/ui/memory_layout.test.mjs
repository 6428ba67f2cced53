// Where the memory map draws things: rules that hold for any row at any zoom.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { join } from 'node:path';

const root = process.env.TT_SOURCE_DIR;
const esbuild = createRequire(join(root, 'ui/package.json'))('esbuild');

/** A module of the pages that touches nothing of the browser. */
async function load(path) {
    const { outputFiles } = await esbuild.build({
        entryPoints: [join(root, 'ui/src', path)],
        bundle: true,
        write: false,
        format: 'esm',
    });
    return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

const { layoutRow, markAt, markOf } = await load('views/memory/layout.ts');
const LEAST = 5;

/** Numbers that look random and are the same in each run. */
function dice(seed) {
    let state = seed;
    return () => {
        state = (state * 1103515245 + 12345) % 2147483648;
        return state / 2147483648;
    };
}

/** Items of those sizes; a size < 0 is a gap. */
function itemsOf(sizes) {
    const starts = new Float64Array(sizes.length + 1);
    sizes.forEach((size, i) => (starts[i + 1] = starts[i] + Math.abs(size)));
    return { starts, vanishes: (i) => sizes[i] < 0 };
}

function check(sizes, width) {
    const items = itemsOf(sizes);
    const { marks, toScale } = layoutRow(items, width, LEAST);
    let end = 0;
    let next = 0;
    for (const m of marks) {
        assert.ok(m.x >= end - 1e-6, `a mark at ${m.x} begins before ${end}`);
        assert.ok(m.width > 0 && m.last >= m.first);
        end = m.x + m.width;
        // Nothing is left out but gaps.
        for (; next < m.first; next++) assert.ok(sizes[next] < 0, `item ${next} is not drawn`);
        next = m.last + 1;
        const gap = m.first === m.last && sizes[m.first] < 0;
        if (!gap && marks.length * LEAST <= width) assert.ok(m.width >= LEAST - 1e-6, `${m.width} px`);
        if (toScale) assert.ok(Math.abs(m.x - m.trueX) <= 1 && Math.abs(m.width - m.trueWidth) <= 1);
    }
    for (; next < sizes.length; next++) assert.ok(sizes[next] < 0, `item ${next} is not drawn`);
    assert.ok(end <= width + 1e-6, `${end} of ${width}`);
    for (let i = 0; i < sizes.length; i++) {
        const m = marks[markOf({ marks }, i)];
        if (m) assert.ok(m.first <= i && i <= m.last);
        else assert.ok(sizes[i] < 0);
    }
    marks.forEach((m, i) => assert.equal(markAt({ marks }, m.x + m.width / 2), i));
    return { marks, toScale };
}

test('no mark is over another, none is lost, none is too small to be found', () => {
    const roll = dice(7);
    for (let round = 0; round < 400; round++) {
        const n = 1 + Math.floor(roll() * 300);
        const sizes = Array.from({ length: n }, () => {
            const size = roll() < 0.4 ? 1 + roll() * 100 : roll() * 1e7;
            return roll() < 0.2 ? -size : size;
        });
        check(sizes, 20 + roll() * (roll() < 0.3 ? 1e5 : 2000));
    }
});

test('what fits is drawn to scale, and says so', () => {
    const { marks, toScale } = check([100, 200, 300], 600);
    assert.ok(toScale);
    assert.deepEqual(marks.map((m) => [Math.round(m.x), Math.round(m.width)]), [[0, 100], [100, 200], [300, 300]]);
});

test('a tiny tensor is widened, its neighbours give way', () => {
    const { marks, toScale } = check([1e6, 1, 1e6], 1000);
    assert.equal(marks.length, 3);
    assert.ok(!toScale);
    assert.ok(Math.abs(marks[1].width - LEAST) < 1e-6);
    assert.ok(marks[0].width < 500 && marks[0].width > 490);
    // The arrow still knows where it truly is.
    assert.ok(Math.abs(marks[1].trueX - 500) < 0.01);
});

test('more than there is room for are merged, and counted', () => {
    const { marks } = check(Array.from({ length: 10_000 }, () => 1), 500);
    assert.ok(marks.length <= 500 / LEAST + 1);
    assert.equal(marks.reduce((sum, m) => sum + m.last - m.first + 1, 0), 10_000);
});

test('nothing, and nonsense, draws nothing', () => {
    assert.equal(layoutRow(itemsOf([]), 100, LEAST).marks.length, 0);
    assert.equal(layoutRow(itemsOf([0, 0]), 100, LEAST).marks.length, 0);
    assert.equal(layoutRow(itemsOf([5]), 0, LEAST).marks.length, 0);
    assert.equal(layoutRow(itemsOf([5]), NaN, LEAST).marks.length, 0);
});
