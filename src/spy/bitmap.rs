//! A scene as PNG: pixels of a palette, and text in a bitmap font.

use noto_sans_mono_bitmap::{FontWeight, RasterHeight, RasterizedChar, get_raster, get_raster_width};
use png::{BitDepth, ColorType, Compression, Encoder};

use super::scene::{Anchor, CHARACTER, Colour, LINE, Mosaic, Rect, Scene, Text};
use super::shades::SHADES;
use super::svg::INK;
use crate::base::error::Result;

/// The number of greys from white to ink, which are first in the palette.
const GREYS: usize = 16;
const WHITE: u8 = 0;

/// Draws a scene, and encodes it as PNG.
pub(super) fn draw(scene: &Scene) -> Result<Vec<u8>> {
    let mut bitmap = Bitmap::new(scene.width, scene.height);
    scene.mosaics.iter().for_each(|mosaic| bitmap.draw_cells(mosaic));
    scene.rects.iter().for_each(|rect| bitmap.fill(rect, index(rect.colour)));
    scene.texts.iter().for_each(|text| bitmap.write(text));
    bitmap.encode()
}

/// Returns the index of a colour in the palette.
fn index(colour: Colour) -> u8 {
    match colour {
        Colour::Ink => GREYS as u8 - 1,
        Colour::Shade(shade) => (GREYS + shade) as u8,
    }
}

/// Returns the palette: the greys, then the shades.
fn palette() -> Vec<u8> {
    let mix = |ink: u8, grey: usize| (255 - (255 - usize::from(ink)) * grey / (GREYS - 1)) as u8;
    let greys = (0..GREYS).map(|grey| INK.map(|ink| mix(ink, grey)));
    greys.chain(SHADES).flatten().collect()
}

/// Pixels, row by row, as indices into the palette.
struct Bitmap {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Bitmap {
    fn new(width: usize, height: usize) -> Self {
        Bitmap { width, height, pixels: vec![WHITE; width * height] }
    }

    /// Returns the pixel at a position, if it is in the picture.
    fn pixel(&mut self, x: usize, y: usize) -> Option<&mut u8> {
        if x < self.width { self.pixels.get_mut(y * self.width + x) } else { None }
    }

    fn fill(&mut self, rect: &Rect, colour: u8) {
        for y in rect.y..rect.y + rect.height {
            for x in rect.x..rect.x + rect.width {
                if let Some(pixel) = self.pixel(x, y) {
                    *pixel = colour;
                }
            }
        }
    }

    fn draw_cells(&mut self, mosaic: &Mosaic) {
        let ((tall, wide), (below, right)) = (mosaic.cell, mosaic.gaps());
        for row in 0..mosaic.rows {
            for (first, cells, shade) in mosaic.runs(row) {
                for column in first..first + cells {
                    let (x, y) = (mosaic.x + column * wide, mosaic.y + row * tall);
                    let colour = Colour::Shade(shade);
                    let cell = Rect { x, y, width: wide - right, height: tall - below, colour };
                    self.fill(&cell, index(colour));
                }
            }
        }
    }

    /// Writes a line of text; a character that is not in the font is drawn as the replacement character.
    fn write(&mut self, text: &Text) {
        let weight = if text.bold { FontWeight::Bold } else { FontWeight::Regular };
        let before = text.text.chars().count() * CHARACTER;
        let before = match text.anchor {
            Anchor::Start => 0,
            Anchor::Middle => before / 2,
            Anchor::End => before,
        };
        for (number, character) in text.text.chars().enumerate() {
            let glyph = |character| get_raster(character, weight, RasterHeight::Size20);
            let Some(glyph) = glyph(character).or_else(|| glyph(char::REPLACEMENT_CHARACTER)) else { continue };
            self.stamp(&glyph, text, number * CHARACTER, before);
        }
    }

    /// Draws a glyph `along` pixels after the start of a text, which is `before` pixels before the point of the text.
    fn stamp(&mut self, glyph: &RasterizedChar, text: &Text, along: usize, before: usize) {
        for (down, row) in glyph.rows().enumerate() {
            for (across, &coverage) in row.iter().enumerate() {
                let along = along + across;
                let place = match text.turned {
                    false => (text.x + along).checked_sub(before).zip(Some(text.y + down)),
                    true => Some(text.x + down).zip((text.y + before).checked_sub(along)),
                };
                if let Some(pixel) = place.and_then(|(x, y)| self.pixel(x, y)) {
                    *pixel = (*pixel).max((usize::from(coverage) * (GREYS - 1) / 255) as u8);
                }
            }
        }
    }

    fn encode(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(&mut bytes, self.width as u32, self.height as u32);
        encoder.set_color(ColorType::Indexed);
        encoder.set_depth(BitDepth::Eight);
        encoder.set_palette(palette());
        encoder.set_compression(Compression::High);
        let mut writer = encoder.write_header().map_err(std::io::Error::from)?;
        writer.write_image_data(&self.pixels).map_err(std::io::Error::from)?;
        writer.finish().map_err(std::io::Error::from)?;
        Ok(bytes)
    }
}

/// Checks that the font and the layout have the same line height.
const _: () = assert!(LINE == RasterHeight::Size20.val());
const _: () = assert!(CHARACTER == get_raster_width(FontWeight::Bold, RasterHeight::Size20));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_palette_goes_from_white_to_ink_and_on_to_the_shades() {
        let colours = palette();
        let colours: Vec<[u8; 3]> = colours.chunks_exact(3).map(|rgb| [rgb[0], rgb[1], rgb[2]]).collect();
        assert_eq!((colours[usize::from(WHITE)], colours[usize::from(index(Colour::Ink))]), ([255; 3], INK));
        assert!(colours[..GREYS].is_sorted_by(|light, dark| light[0] >= dark[0] + 14), "even steps: {colours:?}");
        assert_eq!(colours[GREYS..], SHADES);
        assert_eq!(colours[usize::from(index(Colour::Shade(3)))], SHADES[3]);
    }
}
