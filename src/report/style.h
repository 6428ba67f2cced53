/* How a report looks. */
#ifndef TT_REPORT_STYLE_H
#define TT_REPORT_STYLE_H

/* CSS: the colours of plots, light and dark. Those of lines and bars are of Okabe and Ito's
 * palette, which those tell apart who see some colours alike, darkened or lightened to stand out
 * from the ground. */
const char *tt_style_colors(void);
/* CSS: all else. */
const char *tt_style_page(void);

#endif
