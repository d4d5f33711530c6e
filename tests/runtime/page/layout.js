/* What is wrong with the layout: boxes and colours as the browser has computed them, in the place of pictures to compare
   with. Fonts differ from machine to machine; what a reader must be able to see does not. */
const shown = (e) => e.getClientRects().length > 0;
const name = (e) => `${e.tagName}.${e.getAttribute('class')} ${e.textContent.trim().slice(0, 40)}`;
const scrolls = (e) => e.closest('pre, .panes, .view, select');
const texts = [...document.querySelectorAll('body *')].filter((e) => shown(e) && !scrolls(e)
    && [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
const cut = texts.filter((e) => !(e instanceof SVGElement) && e.clientWidth
    && (e.scrollWidth > e.clientWidth + 1 || e.getBoundingClientRect().right > innerWidth + 1));
const outside = texts.filter((e) => {
    const svg = e instanceof SVGElement && e.ownerSVGElement;
    if (!svg) return false;
    const [a, b] = [e.getBoundingClientRect(), svg.getBoundingClientRect()];
    return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 1 || a.bottom > b.bottom + 1;
});
const overlapping = [];
for (const row of document.querySelectorAll('header, .tiles, .tabs, .bar, .two, .facts, .stagebox, tr, .panes, .spending')) {
    const boxes = [...row.children].filter(shown);
    boxes.forEach((one, k) => boxes.slice(k + 1).forEach((other) => {
        for (const a of one.getClientRects()) for (const b of other.getClientRects()) {
            if (a.left + 1 < b.right && b.left + 1 < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom) {
                overlapping.push([name(one), name(other)]);
            }
        }
    }));
}
const parts = (colour) => colour.match(/[\d.]+/g).map(Number);
const light = (colour) => {
    const [r, g, b] = parts(colour).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (e) => {
    for (; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (parts(colour)[3] !== 0) return colour;
    }
    return 'rgb(255, 255, 255)';
};
const pale = texts.filter((e) => {
    if (e.closest('.memory .label, option')) return false;
    const colour = getComputedStyle(e)[e instanceof SVGElement ? 'fill' : 'color'];
    const [a, b] = [light(colour), light(behind(e))].sort((x, y) => y - x);
    return (a + 0.05) / (b + 0.05) < 4.5;
});
return {texts: texts.length, wide: Math.max(document.documentElement.scrollWidth - innerWidth, 0),
        cut: cut.map(name), outside: outside.map(name), overlapping, pale: pale.map(name)};
