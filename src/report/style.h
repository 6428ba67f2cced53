/* The look of a report. */
#ifndef TT_REPORT_STYLE_H
#define TT_REPORT_STYLE_H

/* CSS: the colours of plots, light and dark. Lines and bars use Okabe and Ito's palette for
 * colour-blind readers, darkened or lightened for contrast with the background. */
const char *tt_style_colors(void);
/* CSS: everything else. */
const char *tt_style_page(void);

#endif
