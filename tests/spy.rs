//! Pictures: the dots, the cells and the pixels are where the entries are.

#![cfg(feature = "spy")]

use std::collections::{BTreeMap, BTreeSet};

use lacuna::spy::Spy;
use lacuna::{CooPattern, CsrPattern, Pattern};
use proptest::prelude::*;
use roxmltree::{Document, Node};

type Entries = BTreeSet<Vec<usize>>;

/// The colours of the shades, from the lightest to the darkest.
const SHADES: [&str; 8] = ["#31afd0", "#0097c9", "#007dbf", "#0063b1", "#174a9c", "#233282", "#231d64", "#1d0a44"];

fn coo(shape: &[usize], entries: &Entries) -> CooPattern<usize> {
    let coords = (0..shape.len()).map(|axis| entries.iter().map(|at| at[axis]).collect()).collect();
    CooPattern::new(shape, entries.len(), coords).unwrap()
}

fn entries<const RANK: usize>(list: &[[usize; RANK]]) -> Entries {
    list.iter().map(|at| at.to_vec()).collect()
}

fn dots<const RANK: usize>(shape: [usize; RANK], list: &[[usize; RANK]], columns: usize) -> String {
    Spy::new(&coo(&shape, &entries(list))).braille(columns)
}

/// Three numbers between brackets or after words of an attribute.
fn numbers(text: &str) -> Vec<usize> {
    text.split(|c: char| !c.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().unwrap())
        .collect()
}

/// The cells of one panel of an SVG: their place, their width and height, and the shade of each that is not empty.
struct Panel {
    at: (usize, usize),
    cell: (usize, usize),
    shades: BTreeMap<(usize, usize), usize>,
}

impl Panel {
    fn of(group: Node<'_, '_>) -> Self {
        let place = numbers(group.attribute("transform").unwrap());
        let mut shades = BTreeMap::new();
        for path in group.children().filter(Node::is_element) {
            let shade = SHADES.iter().position(|shade| Some(*shade) == path.attribute("fill")).unwrap();
            for run in path.attribute("d").unwrap().split_terminator('z') {
                let [x, y, cells, tall, back] = numbers(run)[..] else { panic!("{run}") };
                assert_eq!((tall, back), (1, x), "a run is one cell high and ends where it begins");
                for column in x..x + cells {
                    assert_eq!(shades.insert((y, column), shade), None, "no cell is drawn twice");
                }
            }
        }
        Panel { at: (place[0], place[1]), cell: (place[2], place[3]), shades }
    }

    fn all(svg: &str) -> Vec<Self> {
        let document = Document::parse(svg).unwrap();
        let groups =
            document.descendants().filter(|node| node.attribute("transform").is_some_and(|t| t.contains("scale")));
        groups.map(Panel::of).collect()
    }
}

/// Returns the contents of the text elements.
fn texts(svg: &str) -> Vec<String> {
    let document = Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or("").to_string()).collect()
}

fn size(svg: &str) -> (u32, u32) {
    let document = Document::parse(svg).unwrap();
    let length = |name| document.root_element().attribute(name).unwrap().parse().unwrap();
    (length("width"), length("height"))
}

/// A decoded PNG: its size, and the colour of a pixel.
struct Image {
    size: (u32, u32),
    palette: Vec<u8>,
    pixels: Vec<u8>,
}

impl Image {
    fn decode(bytes: &[u8]) -> Self {
        let mut reader = png::Decoder::new(std::io::Cursor::new(bytes)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let frame = reader.next_frame(&mut pixels).unwrap();
        Image { size: (frame.width, frame.height), palette: reader.info().palette.clone().unwrap().to_vec(), pixels }
    }

    fn colour(&self, x: usize, y: usize) -> String {
        let entry = 3 * usize::from(self.pixels[y * self.size.0 as usize + x]);
        let [r, g, b] = self.palette[entry..entry + 3] else { panic!("a palette of three bytes a colour") };
        format!("#{r:02x}{g:02x}{b:02x}")
    }
}

/// The PNG has the size of the SVG, and every cell of each panel has the colour that it has there.
fn agree(svg: &str, png: &[u8], rows: usize, columns: usize) {
    let image = Image::decode(png);
    assert_eq!(image.size, size(svg));
    for panel in Panel::all(svg) {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            let (x, y) = (panel.at.0 + column * panel.cell.0, panel.at.1 + row * panel.cell.1);
            let expected = panel.shades.get(&(row, column)).map_or("#ffffff", |&shade| SHADES[shade]);
            assert_eq!(image.colour(x, y), expected, "row {row}, column {column}");
            if panel.cell.0 >= 8 {
                assert_eq!(image.colour(x + panel.cell.0 - 1, y), "#ffffff", "a white line between neighbours");
            }
        }
    }
}

#[test]
fn a_matrix_in_text() {
    let expected = "\
axis 0 ↓  axis 1 →
     0   1   2
  ┌──┴───┴───┴─┐
  │⣿⣿⣿⣿⠀⠀⠀⠀⠀⠀⠀⠀│
0 ┤⣿⣿⣿⣿⠀⠀⠀⠀⠀⠀⠀⠀│
  │⠀⠀⠀⠀⠀⠀⠀⠀⣿⣿⣿⣿│
1 ┤⠀⠀⠀⠀⠀⠀⠀⠀⣿⣿⣿⣿│
  └────────────┘
[2, 3], 2 stored of 6 (33.3 %)
";
    assert_eq!(dots([2, 3], &[[0, 0], [1, 2]], 40), expected);
}

/// Each of the eight dots of a character at its place.
#[test]
fn every_dot_of_a_character() {
    let one = |row, column| {
        let text = dots([40, 40], &[[row, column]], 24);
        assert!(text.contains("a dot is 2 × 2 positions"), "{text}");
        let line = text.lines().find(|line| line.contains('┤')).unwrap().to_string();
        line.chars().find(|c| ('\u{2800}'..='\u{28ff}').contains(c)).unwrap()
    };
    let drawn: String = (0..4).flat_map(|row| [one(2 * row, 0), one(2 * row + 1, 3)]).collect();
    assert_eq!(drawn, "⠁⠈⠂⠐⠄⠠⡀⢀");
}

#[test]
fn a_strip_a_point_and_nothing_in_text() {
    let strip = "\
axis 0 →
   0   1   2   3   4
┌──┴───┴───┴───┴───┴─┐
│⠀⠀⠀⠀⣿⣿⣿⣿⠀⠀⠀⠀⠀⠀⠀⠀⣿⣿⣿⣿│
│⠀⠀⠀⠀⣿⣿⣿⣿⠀⠀⠀⠀⠀⠀⠀⠀⣿⣿⣿⣿│
└────────────────────┘
[5], 2 stored of 5 (40.0 %)
";
    assert_eq!(dots([5], &[[1], [4]], 40), strip);
    let point = "┌────┐\n│⣿⣿⣿⣿│\n│⣿⣿⣿⣿│\n└────┘\n[], 1 stored of 1 (100 %)\n";
    assert_eq!(dots([], &[[]], 80), point);
    let nothing = "axis 0 ↓  axis 1 →\n┌─┐\n│⠀│\n└─┘\n[0, 0], 0 stored of 0\n";
    assert_eq!(dots([0, 0], &[], 80), nothing);
}

#[test]
fn a_cube_in_text_is_a_triangle_of_projections() {
    let text = dots([2, 2, 2], &[[0, 0, 1], [1, 0, 0]], 60);
    let expected = "\
axis 0 ↓  axis 1 →             axis 0 ↓  axis 2 →
     0   1                          0   1
  ┌──┴───┴─┐                     ┌──┴───┴─┐
  │⣿⣿⣿⣿⠀⠀⠀⠀│                     │⠀⠀⠀⠀⣿⣿⣿⣿│
0 ┤⣿⣿⣿⣿⠀⠀⠀⠀│                   0 ┤⠀⠀⠀⠀⣿⣿⣿⣿│
  │⣿⣿⣿⣿⠀⠀⠀⠀│                     │⣿⣿⣿⣿⠀⠀⠀⠀│
1 ┤⣿⣿⣿⣿⠀⠀⠀⠀│                   1 ┤⣿⣿⣿⣿⠀⠀⠀⠀│
  └────────┘                     └────────┘
                               axis 1 ↓  axis 2 →
                                    0   1
                                 ┌──┴───┴─┐
                                 │⣿⣿⣿⣿⣿⣿⣿⣿│
                               0 ┤⣿⣿⣿⣿⣿⣿⣿⣿│
                                 │⠀⠀⠀⠀⠀⠀⠀⠀│
                               1 ┤⠀⠀⠀⠀⠀⠀⠀⠀│
                                 └────────┘
[2, 2, 2], 2 stored of 8 (25.0 %)
";
    assert_eq!(text, expected);
}

/// With three long axes, the first is only on rows and the last only on columns. Each axis has the room that is there.
#[test]
fn long_axes_share_the_room() {
    let diagonal: Vec<[usize; 3]> = (0..300).map(|at| [at, 299 - at, at]).collect();
    let expected = "axis 0 ↓  axis 1 →           axis 0 ↓  axis 2 →
     0          200   299         0          200   \
            299
    ┌┴───────────┴─────┴┐        \
            ┌┴───────────┴─────┴┐
  0 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋│      0 \
            ┤⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
    \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀│        \
            │⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
    \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀│        \
            │⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
100 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀│    100 \
            ┤⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
    \
            │⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀│        \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀⠀⠀⠀│
    \
            │⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│        \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀⠀⠀⠀│
200 \
            ┤⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│    200 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀⠀⠀⠀│
    \
            │⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│        \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄⠀⠀⠀│
    \
            │⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│        \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠑⢄⠀│
299 \
            ┤⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│    299 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠑│
    \
            └───────────────────┘        \
            └───────────────────┘
                             axis 1 ↓  \
            axis 2 →
                                  0          200   299
                                 \
            ┌┴───────────┴─────┴┐
                               0 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋│
                                 \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀│
                                 \
            │⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀│
                             100 \
            ┤⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀│
                                 \
            │⠀⠀⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀│
                                 \
            │⠀⠀⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
                             200 \
            ┤⠀⠀⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
                                 \
            │⠀⠀⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
                                 \
            │⢀⡴⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
                             299 \
            ┤⠋⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀⠀│
                                 \
            └───────────────────┘
[300, 300, 300], 300 stored of 27000000 \
            (1.1e-3 %)
a dot is 8 positions along each axis
";
    assert_eq!(dots([300, 300, 300], &diagonal, 56), expected);
}

#[test]
fn a_long_axis_has_the_last_index_and_says_what_a_dot_is() {
    let text = dots([1 << 40, 10], &[[0, 0], [(1 << 40) - 1, 9]], 80);
    assert!(text.contains("1099511627775 ┤"), "{text}");
    assert!(text.contains("a dot is 9162596899 × 1 positions"), "{text}");
    assert!(text.lines().filter(|line| line.contains('│')).all(|line| line.chars().count() > 50), "no sliver: {text}");
    let dots_drawn = text.chars().filter(|c| ('\u{2801}'..='\u{28ff}').contains(c)).count();
    assert_eq!(dots_drawn, 8, "two positions, each four characters wide: {text}");
}

/// The rows of a picture are few beside its columns, so that a square one is about square; a wide one takes the width.
#[test]
fn columns_take_the_width_and_rows_three_lines_for_eight_characters_of_it() {
    let drawn = |shape: [usize; 2]| {
        let text = Spy::new(&coo(&shape, &entries(&[shape.map(|length| length - 1)]))).braille(40);
        let panel: Vec<_> = text.lines().filter(|line| line.ends_with('│')).collect();
        (panel.len(), panel[0].chars().rev().skip(1).take_while(|c| !['│', '┤'].contains(c)).count())
    };
    assert_eq!(drawn([15, 1000]), (15, 34));
    assert_eq!(drawn([1000, 1000]), (15, 30));
    assert_eq!(drawn([1000, 15]), (15, 30));
}

#[test]
fn every_rank_has_a_picture() {
    for rank in 0..=10usize {
        for length in [0, 1, 2, 300, usize::MAX] {
            let shape = vec![length; rank];
            let here: Entries = if length == 0 && rank > 0 { Entries::new() } else { [vec![length / 2; rank]].into() };
            let pattern = coo(&shape, &here);
            let picture = Spy::new(&pattern);
            for columns in [0, 24, 80, 200, usize::MAX] {
                let text = picture.braille(columns);
                let drawn = text.lines().filter(|line| line.contains(['│', '┌', '↓'])).map(|line| line.chars().count());
                assert!(drawn.max().unwrap() <= columns.clamp(24, 400), "rank {rank}, length {length}:\n{text}");
                assert_eq!(text.contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c)), !here.is_empty(), "{text}");
                assert!(rank < 6 || columns > 80 || text.contains("shown are axes 0, 1"), "{text}");
            }
            let svg = picture.svg();
            let image = Image::decode(&picture.png().unwrap());
            assert_eq!(image.size, size(&svg));
            assert!(image.size.0 <= 800, "rank {rank}, length {length}: {:?}", image.size);
            let shown = rank.min(5);
            let panels = Panel::all(&svg);
            assert_eq!(panels.len(), if rank < 2 { 1 } else { shown * (shown - 1) / 2 });
            assert!(panels.iter().all(|panel| panel.shades.len() == here.len()));
            let cut = format!("shown are axes 0, 1, 2, 3, 4 of {rank}: the longest");
            assert_eq!(texts(&svg).contains(&cut), rank > 5);
        }
    }
}

#[test]
fn the_longest_axes_are_shown() {
    let shape = [1, 9, 1, 8, 7, 1, 6, 5];
    let pattern = coo(&shape, &[vec![0; 8]].into());
    assert!(texts(&Spy::new(&pattern).svg()).contains(&"shown are axes 1, 3, 4, 6, 7 of 8: the longest".into()));
    assert!(Spy::new(&pattern).braille(80).contains("shown are axes 1, 3, 4, 6 of 8: the longest"));
}

#[test]
fn both_formats_have_the_same_picture() {
    let csr = CsrPattern::new([2, 3], vec![0, 2, 3], vec![0u32, 2, 1]).unwrap();
    let coo = coo(&[2, 3], &entries(&[[0, 0], [0, 2], [1, 1]]));
    assert_eq!(Spy::new(&csr).svg(), Spy::new(&coo).svg());
    assert_eq!(Spy::new(&csr).braille(80), Spy::new(&coo).braille(80));
}

#[test]
fn titles_are_text() {
    let pattern = coo(&[2, 2], &Entries::new());
    let picture = Spy::new(&pattern).titled("a<b> & \"c\"\u{1b}[31m\n");
    assert_eq!(texts(&picture.svg())[0], "a<b> & \"c\"\u{fffd}[31m\u{fffd}");
    assert!(picture.braille(80).ends_with("a<b> & \"c\"\u{fffd}[31m\u{fffd}: [2, 2], 0 stored of 4\n"));
    // XML has no place for these at all.
    assert_eq!(texts(&Spy::new(&pattern).titled("a\u{fffe}b\u{ffff}").svg())[0], "a\u{fffd}b\u{fffd}");
    let long = Spy::new(&pattern).titled(&"x".repeat(1000));
    assert!(size(&long.svg()).0 <= 800);
    assert!(texts(&long.svg())[0].contains("x...x"));
    let two_halves = Spy::new(&pattern).titled(&("a".repeat(500) + &"b".repeat(500)));
    let halves = |letter| texts(&two_halves.svg())[0].matches(letter).count();
    assert!(halves('a') - halves('b') < 2, "the middle is left out");
    // Characters that the font of the PNG lacks.
    let foreign = Spy::new(&pattern).titled("тензор 張量");
    assert_eq!(Image::decode(&foreign.png().unwrap()).size, size(&foreign.svg()));
}

/// A single entry in a large cell has the lightest shade, which is far from white; the fullest has the darkest.
#[test]
fn shades_tell_counts() {
    let block = (0..100).flat_map(|row| (0..100).map(move |column| vec![row, column]));
    let some: Entries = block.chain([vec![999, 999]]).collect();
    let pattern = coo(&[1000, 1000], &some);
    let svg = Spy::new(&pattern).svg();
    let panel = &Panel::all(&svg)[0];
    assert_eq!(panel.cell, (3, 3));
    assert_eq!(panel.shades[&(0, 0)], 7, "25 of 25 positions");
    assert_eq!(panel.shades[&(199, 199)], 0, "1 of 25 positions");
    let words = texts(&svg);
    let legend = words.iter().position(|text| text == "entries in a cell of 5 × 5 positions").unwrap();
    assert_eq!(words[legend + 1..], ["1", "2", "5", "10", "20", "25"]);
    agree(&svg, &Spy::new(&pattern).png().unwrap(), 200, 200);
    // If each cell is one position, there is no legend.
    assert!(!texts(&Spy::new(&coo(&[3, 3], &entries(&[[1, 1]]))).svg()).iter().any(|text| text.contains("entries")));
}

#[test]
fn a_grid_says_what_its_cells_are() {
    let says = |shape: &[usize], words: &str| {
        let pattern = coo(shape, &[vec![0; shape.len()]].into());
        let svg = Spy::new(&pattern).svg();
        assert!(texts(&svg).iter().any(|text| text == words), "{words}: {:?}", texts(&svg));
    };
    says(&[3, 4, 5], "entries in a cell");
    says(&[300, 300, 300], "entries in a cell of 2 positions along each axis");
    says(&[1000, 2000, 30], "entries in a cell of 7, 14, 1 positions along axes 0, 1, 2");
    says(&[1000], "entries in a cell of 5 positions");
    // A shape that leaves no room on its line has a line of its own.
    says(&[1 << 40; 4], "[1099511627776, 1099511627776, 1099511627776, 1099511627776]");
}

#[test]
fn a_cell_is_one_position_up_to_256() {
    for (length, cells) in [(217, 217), (256, 256), (257, 129)] {
        let diagonal: Entries = (0..length).map(|at| vec![at, at]).collect();
        assert_eq!(Panel::all(&Spy::new(&coo(&[length, length], &diagonal)).svg())[0].shades.len(), cells);
    }
}

#[test]
fn an_svg_of_noise_stays_small() {
    let mut state = 1u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % 2000
    };
    let some: Entries = (0..100_000).map(|_| vec![next(), next()]).collect();
    let svg = Spy::new(&coo(&[2000, 2000], &some)).svg();
    assert!(svg.len() < 700_000, "{}", svg.len());
}

fn small() -> impl Strategy<Value = (usize, usize, Entries)> {
    (0usize..40, 0usize..40).prop_flat_map(|(rows, columns)| {
        let at = (0..rows.max(1), 0..columns.max(1)).prop_map(|(row, column)| vec![row, column]);
        let most = if rows * columns == 0 { 0 } else { 60 };
        prop::collection::btree_set(at, 0..=most).prop_map(move |some| (rows, columns, some))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// Each cell of a small matrix is a position. The drawn cells are the stored positions, in both kinds of image and
    /// in text.
    #[test]
    fn cells_are_entries((rows, columns, some) in small()) {
        let pattern = coo(&[rows, columns], &some);
        let picture = Spy::new(&pattern);
        let svg = picture.svg();
        let stretched = rows.max(columns) / 5 > rows.min(columns).max(1);
        let panels = Panel::all(&svg);
        let drawn: Entries = panels[0].shades.keys().map(|&(row, column)| vec![row, column]).collect();
        prop_assert_eq!(&drawn, &some);
        prop_assert!(panels[0].shades.values().all(|&shade| shade == 7));
        prop_assert!(stretched || rows * columns == 0 || panels[0].cell.0 == panels[0].cell.1);
        agree(&svg, &picture.png().unwrap(), rows, columns);
    }

    /// For any tensor, the number of drawn dots and cells is the number that the entries need.
    #[test]
    fn nothing_panics(
        shape in prop::collection::vec(prop_oneof![Just(0usize), 1usize..4, 200usize..3000, Just(1 << 40)], 0..8),
        seeds in prop::collection::vec(any::<u64>(), 0..30),
        columns in 0usize..200,
    ) {
        let at = |seed: &u64| {
            let coord = |(axis, &length): (usize, &usize)| seed.rotate_left(7 * axis as u32) as usize % length.max(1);
            shape.iter().enumerate().map(coord).collect::<Vec<_>>()
        };
        let some: Entries = if shape.contains(&0) { Entries::new() } else { seeds.iter().map(at).collect() };
        let pattern = coo(&shape, &some);
        let picture = Spy::new(&pattern);
        let has_dots = picture.braille(columns).contains(|c| ('\u{2801}'..='\u{28ff}').contains(&c));
        prop_assert_eq!(has_dots, !some.is_empty());
        let svg = picture.svg();
        prop_assert_eq!(Image::decode(&picture.png().unwrap()).size, size(&svg));
        prop_assert!(size(&svg).0 <= 800, "{:?}", size(&svg));
        for panel in Panel::all(&svg) {
            prop_assert!(panel.shades.len() <= pattern.nnz());
            prop_assert_eq!(panel.shades.is_empty(), some.is_empty());
        }
    }
}

/// The pictures in the documents are what is drawn; `lacuna spy FILE -o PICTURE` draws them anew.
#[cfg(feature = "io")]
#[test]
fn the_pictures_of_the_documents_are_drawn_so() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["karate.mtx", "mauna_loa_co2_monthly.npz"] {
        let x = lacuna::io::read(root.join("tests/data").join(name), &Default::default()).unwrap();
        let drawn = lacuna::dispatch!(&x, x => Spy::new(x.pattern()).titled(name).png()).unwrap();
        let kept = std::fs::read(root.join("docs/pictures").join(name).with_extension("png")).unwrap();
        assert_eq!(Image::decode(&kept).pixels, Image::decode(&drawn).pixels, "{name}");
    }
    let x = lacuna::io::read(root.join("tests/data/titanic.npz"), &Default::default()).unwrap();
    let drawn = lacuna::dispatch!(&x, x => Spy::new(x.pattern()).titled("titanic.npz").svg());
    assert_eq!(drawn, std::fs::read_to_string(root.join("docs/pictures/titanic.svg")).unwrap());
}

/// Returns the contents of the frame of a picture in text.
fn panel(text: &str) -> Vec<Vec<char>> {
    let lines = text.lines().filter_map(|line| line.strip_suffix('│'));
    lines.map(|line| line.rsplit(['│', '┤']).next().unwrap().chars().collect()).collect()
}

/// If nearly every dot has an entry, the fuller half of the dots is drawn: here a quarter that is three times as full.
#[test]
fn a_saturated_text_shows_where_there_is_more() {
    let dense =
        |row: usize, column: usize| (row * 7 + column * 13) % 10 < if row < 200 && column < 200 { 6 } else { 2 };
    let all = (0..400).flat_map(|row| (0..400).map(move |column| [row, column]));
    let some: Vec<[usize; 2]> = all.filter(|&[row, column]| dense(row, column)).collect();
    let text = dots([400, 400], &some, 40);
    let drawn = panel(&text);
    let (tall, wide) = (drawn.len(), drawn[0].len());
    assert!(drawn[0][..wide / 2].iter().all(|&c| c == '⣿'), "{text}");
    assert!(drawn[0][wide / 2 + 1..].iter().all(|&c| c != '⣿'), "{text}");
    assert!(drawn[tall / 2 + 1..].iter().flatten().all(|&c| c != '⣿'), "{text}");
    assert!(text.ends_with(" % or more are stored\n"), "{text}");
}

/// The cells at the end of an axis stand for fewer positions, and are as full.
#[test]
fn a_full_matrix_is_full_in_text() {
    let all: Vec<[usize; 2]> = (0..100).flat_map(|row| (0..101).map(move |column| [row, column])).collect();
    let text = dots([100, 101], &all, 40);
    assert!(text.ends_with("a dot is 2 × 2 positions\n"), "{text}");
    let drawn = panel(&text);
    assert!(drawn[..drawn.len() - 1].iter().all(|line| line[..line.len() - 1].iter().all(|&c| c == '⣿')), "{text}");
    assert!(drawn.iter().flatten().all(|&c| c != '⠀'), "{text}");
}

/// A cell of one and a half characters would smear into its neighbour.
#[test]
fn a_cell_of_text_ends_where_a_character_or_a_part_of_one_does() {
    for length in 2..60 {
        let text = dots([length, length], &[[0, 0], [length - 1, length - 1]], 60);
        let dots: usize = panel(&text)[0].iter().filter(|&&c| c != '⠀').count();
        let wide = panel(&text)[0].len() * 2;
        let unit = wide / length;
        assert!([1, 2, 4, 8].contains(&unit) && dots == unit.div_ceil(2), "{length}: {unit}\n{text}");
    }
}

/// A wider picture of a long axis has more cells; each picture has about the width asked for, since cells are whole
/// pixels.
#[test]
fn a_picture_has_the_size_asked_for() {
    let diagonal: Vec<[usize; 2]> = (0..2000).map(|at| [at, at]).collect();
    let pattern = coo(&[2000, 2000], &entries(&diagonal));
    let drawn = |pixels: usize| {
        let picture = Spy::new(&pattern).sized(pixels);
        let svg = picture.svg();
        assert_eq!(Image::decode(&picture.png().unwrap()).size, size(&svg));
        (size(&svg).0, Panel::all(&svg)[0].shades.len())
    };
    assert_eq!(Spy::new(&pattern).sized(700).svg(), Spy::new(&pattern).svg());
    for pixels in [300u32, 700, 1500] {
        assert!(drawn(pixels as usize).0.abs_diff(pixels) < pixels / 4, "{pixels}: {:?}", drawn(pixels as usize));
    }
    assert!(drawn(300).1 < 100 && drawn(700).1 > 150 && drawn(1500).1 > 300, "{:?}", drawn(1500));
    assert_eq!((drawn(0), drawn(usize::MAX)), (drawn(240), drawn(4000)));
    for rank in 0..8usize {
        let pattern = coo(&vec![300; rank], &[vec![7; rank]].into());
        for pixels in [240u32, 1000] {
            let picture = Spy::new(&pattern).sized(pixels as usize);
            assert!(size(&picture.svg()).0 < pixels + 350, "rank {rank}: {:?}", size(&picture.svg()));
            assert!(!texts(&picture.svg()).iter().any(|text| text.contains("...")), "rank {rank}: no count is cut");
        }
    }
}
