//! Character encodings by their IANA names, for `textencodebase64` and `textdecodebase64`.
//!
//! UTF-16 and the one-byte sets that the web does not know are done here, the rest by `encoding_rs`.
//! Nothing is ever replaced: a text that does not fit is refused.

use std::{collections::BTreeMap, sync::LazyLock};

/// An encoding.
#[derive(Clone, Copy)]
pub(super) enum Charset {
    Utf8,
    Ascii,
    /// Every byte is the code point of the same number.
    Latin1,
    /// As Latin-1 but for six Turkish letters.
    Latin5,
    Utf16(Order),
    /// ASCII, and these characters for the bytes from 128 on.
    Upper(&'static str),
    /// Seven-bit GB 2312: `~{` and `~}` around its characters.
    Hz,
    /// These characters for all bytes.
    Whole(&'static str),
    Web(&'static encoding_rs::Encoding),
}

/// Byte order of UTF-16.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Order {
    Big,
    Little,
    /// As a byte order mark says, big without one; one is written.
    Marked,
}

impl Charset {
    /// By IANA name or alias, in any case.
    pub(super) fn find(name: &str) -> Option<Self> {
        use encoding_rs as web;
        Some(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "csutf8" => Charset::Utf8,
            "us-ascii" | "iso646-us" | "iso-ir-6" | "ansi_x3.4-1968" | "ansi_x3.4-1986"
            | "iso_646.irv:1991" | "us" | "ibm367" | "cp367" | "csascii" => Charset::Ascii,
            "utf-16" | "csutf16" => Charset::Utf16(Order::Marked),
            "utf-16be" | "csutf16be" => Charset::Utf16(Order::Big),
            "utf-16le" | "csutf16le" => Charset::Utf16(Order::Little),
            "iso-8859-1" | "iso_8859-1" | "iso_8859-1:1987" | "iso-ir-100" | "latin1" | "l1" | "ibm819"
            | "cp819" | "csisolatin1" => Charset::Latin1,
            "iso-8859-2" | "iso_8859-2" | "iso_8859-2:1987" | "iso-ir-101" | "latin2" | "l2"
            | "csisolatin2" => Charset::Web(web::ISO_8859_2),
            "iso-8859-3" | "iso_8859-3" | "iso_8859-3:1988" | "iso-ir-109" | "latin3" | "l3"
            | "csisolatin3" => Charset::Web(web::ISO_8859_3),
            "iso-8859-4" | "iso_8859-4" | "iso_8859-4:1988" | "iso-ir-110" | "latin4" | "l4"
            | "csisolatin4" => Charset::Web(web::ISO_8859_4),
            "iso-8859-5" | "iso_8859-5" | "iso_8859-5:1988" | "iso-ir-144" | "cyrillic"
            | "csisolatincyrillic" => Charset::Web(web::ISO_8859_5),
            "iso-8859-6" | "iso_8859-6" | "iso_8859-6:1987" | "iso-ir-127" | "ecma-114" | "asmo-708"
            | "arabic" | "csisolatinarabic" | "iso-8859-6-e" | "iso_8859-6-e" | "csiso88596e"
            | "iso-8859-6-i" | "iso_8859-6-i" | "csiso88596i" => Charset::Web(web::ISO_8859_6),
            "iso-8859-7" | "iso_8859-7" | "iso_8859-7:1987" | "iso-ir-126" | "elot_928" | "ecma-118"
            | "greek" | "greek8" | "csisolatingreek" => Charset::Web(web::ISO_8859_7),
            "iso-8859-8" | "iso_8859-8" | "iso_8859-8:1988" | "iso-ir-138" | "hebrew"
            | "csisolatinhebrew" | "iso-8859-8-e" | "iso_8859-8-e" | "csiso88598e" => {
                Charset::Web(web::ISO_8859_8)
            }
            "iso-8859-8-i" | "iso_8859-8-i" | "csiso88598i" => Charset::Web(web::ISO_8859_8_I),
            "iso-8859-9" | "iso_8859-9" | "iso_8859-9:1989" | "iso-ir-148" | "latin5" | "l5"
            | "csisolatin5" => Charset::Latin5,
            "iso-8859-10" | "iso_8859-10:1992" | "iso-ir-157" | "latin6" | "l6" | "csisolatin6" => {
                Charset::Web(web::ISO_8859_10)
            }
            "iso-8859-13" | "csiso885913" => Charset::Web(web::ISO_8859_13),
            "iso-8859-14" | "iso_8859-14:1998" | "iso_8859-14" | "iso-ir-199" | "latin8" | "iso-celtic"
            | "l8" | "csiso885914" => Charset::Web(web::ISO_8859_14),
            "iso-8859-15" | "iso_8859-15" | "latin-9" | "csiso885915" => Charset::Web(web::ISO_8859_15),
            "iso-8859-16" | "iso_8859-16:2001" | "iso_8859-16" | "iso-ir-226" | "latin10" | "l10"
            | "csiso885916" => Charset::Web(web::ISO_8859_16),
            "windows-874" | "cswindows874" => Charset::Web(web::WINDOWS_874),
            "windows-1250" | "cswindows1250" => Charset::Web(web::WINDOWS_1250),
            "windows-1251" | "cswindows1251" => Charset::Web(web::WINDOWS_1251),
            "windows-1252" | "cswindows1252" => Charset::Web(web::WINDOWS_1252),
            "windows-1253" | "cswindows1253" => Charset::Web(web::WINDOWS_1253),
            "windows-1254" | "cswindows1254" => Charset::Web(web::WINDOWS_1254),
            "windows-1255" | "cswindows1255" => Charset::Web(web::WINDOWS_1255),
            "windows-1256" | "cswindows1256" => Charset::Web(web::WINDOWS_1256),
            "windows-1257" | "cswindows1257" => Charset::Web(web::WINDOWS_1257),
            "windows-1258" | "cswindows1258" => Charset::Web(web::WINDOWS_1258),
            "koi8-r" | "cskoi8r" => Charset::Web(web::KOI8_R),
            "koi8-u" | "cskoi8u" => Charset::Web(web::KOI8_U),
            "ibm866" | "cp866" | "866" | "csibm866" => Charset::Web(web::IBM866),
            "macintosh" | "mac" | "csmacintosh" => Charset::Web(web::MACINTOSH),
            "shift_jis" | "ms_kanji" | "csshiftjis" => Charset::Web(web::SHIFT_JIS),
            "euc-jp" | "extended_unix_code_packed_format_for_japanese" | "cseucpkdfmtjapanese" => {
                Charset::Web(web::EUC_JP)
            }
            "iso-2022-jp" | "csiso2022jp" => Charset::Web(web::ISO_2022_JP),
            "euc-kr" | "cseuckr" => Charset::Web(web::EUC_KR),
            "gb18030" | "csgb18030" => Charset::Web(web::GB18030),
            "gbk" | "cp936" | "ms936" | "windows-936" | "csgbk" => Charset::Web(web::GBK),
            "hz-gb-2312" => Charset::Hz,
            "big5" | "csbig5" => Charset::Web(web::BIG5),
            "ibm437" | "cp437" | "437" | "cspc8codepage437" => Charset::Upper(CP437),
            "ibm850" | "cp850" | "850" | "cspc850multilingual" => Charset::Upper(CP850),
            "ibm852" | "cp852" | "852" | "cspcp852" => Charset::Upper(CP852),
            "ibm855" | "cp855" | "855" | "csibm855" => Charset::Upper(CP855),
            "ibm00858" | "ccsid00858" | "cp00858" | "pc-multilingual-850+euro" | "csibm00858" => {
                Charset::Upper(CP858)
            }
            "ibm860" | "cp860" | "860" | "csibm860" => Charset::Upper(CP860),
            "ibm862" | "cp862" | "862" | "cspc862latinhebrew" => Charset::Upper(CP862),
            "ibm863" | "cp863" | "863" | "csibm863" => Charset::Upper(CP863),
            "ibm865" | "cp865" | "865" | "csibm865" => Charset::Upper(CP865),
            "ibm037" | "cp037" | "ebcdic-cp-us" | "ebcdic-cp-ca" | "ebcdic-cp-wt" | "ebcdic-cp-nl"
            | "csibm037" => Charset::Whole(CP037),
            "ibm1047" | "ibm-1047" | "csibm1047" => Charset::Whole(CP1047),
            "ibm01140" | "ccsid01140" | "cp01140" | "ebcdic-us-37+euro" | "csibm01140" => {
                Charset::Whole(CP1140)
            }
            _ => return None,
        })
    }

    /// The bytes of a text; `None` if it has a character that the encoding has not.
    pub(super) fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Charset::Utf8 => Some(text.as_bytes().to_vec()),
            Charset::Ascii => text.is_ascii().then(|| text.as_bytes().to_vec()),
            Charset::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
            Charset::Latin5 => text.chars().map(to_latin5).collect(),
            Charset::Upper(upper) => text.chars().map(|c| to_upper_half(c, upper)).collect(),
            Charset::Whole(all) => text.chars().map(|c| place(c, all)).collect(),
            Charset::Hz => encode_hz(text),
            Charset::Utf16(order) => {
                let mark = (order == Order::Marked).then_some(0xfeff);
                let units = mark.into_iter().chain(text.encode_utf16());
                Some(if order == Order::Little {
                    units.flat_map(u16::to_le_bytes).collect()
                } else {
                    units.flat_map(u16::to_be_bytes).collect()
                })
            }
            Charset::Web(encoding) if encoding == encoding_rs::EUC_JP => encode_euc_jp(text),
            Charset::Web(encoding) => {
                let (bytes, _, failed) = encoding.encode(text);
                (!failed && text.chars().all(|c| web_has(encoding, c))).then(|| bytes.into_owned())
            }
        }
    }

    /// The text of bytes; `None` if they mean nothing.
    pub(super) fn decode(self, bytes: &[u8]) -> Option<String> {
        match self {
            Charset::Utf8 => String::from_utf8(bytes.to_vec()).ok(),
            Charset::Ascii => bytes
                .is_ascii()
                .then(|| bytes.iter().map(|byte| char::from(*byte)).collect()),
            Charset::Latin1 => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
            Charset::Latin5 => Some(bytes.iter().map(|byte| from_latin5(*byte)).collect()),
            Charset::Hz => decode_hz(bytes),
            Charset::Whole(all) => bytes
                .iter()
                .map(|byte| all.chars().nth(usize::from(*byte)))
                .collect(),
            Charset::Upper(upper) => bytes.iter().map(|byte| from_upper_half(*byte, upper)).collect(),
            Charset::Utf16(order) => decode_utf16(bytes, order),
            Charset::Web(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(bytes)
                .filter(|text| text.chars().all(|c| web_has(encoding, c)))
                .map(|text| text.into_owned()),
        }
    }
}

/// The web gives a meaning to bytes that have none: control characters, private use, look-alikes in Japanese sets.
fn web_has(encoding: &'static encoding_rs::Encoding, c: char) -> bool {
    match c {
        '\u{80}'..='\u{9f}' => !encoding.is_single_byte(),
        '\u{e000}'..='\u{f8ff}' => encoding.is_single_byte(),
        '¥' | '‾' | '\u{2212}' => ![
            encoding_rs::SHIFT_JIS,
            encoding_rs::EUC_JP,
            encoding_rs::ISO_2022_JP,
        ]
        .contains(&encoding),
        _ => true,
    }
}

/// EUC-JP with JIS X 0212, whose characters the web reads but never writes.
fn encode_euc_jp(text: &str) -> Option<Vec<u8>> {
    static SUPPLEMENT: LazyLock<BTreeMap<char, [u8; 3]>> = LazyLock::new(|| {
        let cells = (0xa1..=0xfe).flat_map(|row| (0xa1..=0xfe).map(move |cell| [0x8f, row, cell]));
        let pairs = cells.filter_map(|bytes| {
            let text = encoding_rs::EUC_JP.decode_without_bom_handling_and_without_replacement(&bytes)?;
            Some((text.chars().next()?, bytes))
        });
        pairs.collect()
    });
    let mut out = Vec::new();
    for c in text.chars() {
        let mut buffer = [0; 4];
        let (bytes, _, failed) = encoding_rs::EUC_JP.encode(c.encode_utf8(&mut buffer));
        if !failed && web_has(encoding_rs::EUC_JP, c) {
            out.extend_from_slice(&bytes);
        } else {
            out.extend(SUPPLEMENT.get(&c)?);
        }
    }
    Some(out)
}

fn encode_hz(text: &str) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut inside = false;
    for c in text.chars() {
        if inside == c.is_ascii() {
            out.extend(if inside { b"~}" } else { b"~{" });
            inside = !inside;
        }
        match c {
            '~' => out.extend(b"~~"),
            // GBK has a byte of its own for it.
            '€' => out.extend([0x22, 0x63]),
            _ if c.is_ascii() => out.push(u8::try_from(u32::from(c)).ok()?),
            _ => match *encoding_rs::GBK.encode(c.encode_utf8(&mut [0; 4])).0 {
                [first @ 0xa1..=0xf7, second @ 0xa1..=0xfe] => out.extend([first & 0x7f, second & 0x7f]),
                _ => return None,
            },
        }
    }
    Some(out)
}

fn decode_hz(bytes: &[u8]) -> Option<String> {
    let mut out = String::new();
    let mut inside = false;
    let mut rest = bytes;
    loop {
        rest = match *rest {
            [] => return Some(out),
            [b'~', b'{', ref after @ ..] => {
                inside = true;
                after
            }
            [b'~', b'}', ref after @ ..] => {
                inside = false;
                after
            }
            [b'~', b'~', ref after @ ..] => {
                out.push('~');
                after
            }
            // A line break after a tilde joins lines.
            [b'~', b'\n', ref after @ ..] => after,
            [first @ 0x21..=0x77, second @ 0x21..=0x7e, ref after @ ..] if inside => {
                let pair = [first | 0x80, second | 0x80];
                out.push_str(&encoding_rs::GBK.decode_without_bom_handling_and_without_replacement(&pair)?);
                after
            }
            [only, ref after @ ..] if !inside && only != b'~' && only.is_ascii() => {
                out.push(only.into());
                after
            }
            _ => return None,
        };
    }
}

fn decode_utf16(bytes: &[u8], order: Order) -> Option<String> {
    let (little, bytes) = match (order, bytes) {
        (Order::Marked, [0xff, 0xfe, rest @ ..]) => (true, rest),
        (Order::Marked, [0xfe, 0xff, rest @ ..]) => (false, rest),
        _ => (order == Order::Little, bytes),
    };
    let pairs = bytes.chunks_exact(2);
    if !pairs.remainder().is_empty() {
        return None;
    }
    let unit = |pair: &[u8]| match pair {
        [a, b] if little => u16::from_le_bytes([*a, *b]),
        [a, b] => u16::from_be_bytes([*a, *b]),
        _ => 0,
    };
    char::decode_utf16(pairs.map(unit)).collect::<Result<_, _>>().ok()
}

/// Where Latin-5 differs from Latin-1.
const TURKISH: [(u8, char); 6] = [
    (0xd0, 'Ğ'),
    (0xdd, 'İ'),
    (0xde, 'Ş'),
    (0xf0, 'ğ'),
    (0xfd, 'ı'),
    (0xfe, 'ş'),
];

fn from_latin5(byte: u8) -> char {
    TURKISH
        .iter()
        .find(|(known, _)| *known == byte)
        .map_or(char::from(byte), |(_, c)| *c)
}

fn to_latin5(c: char) -> Option<u8> {
    let turkish = TURKISH
        .iter()
        .find(|(_, known)| *known == c)
        .map(|(byte, _)| *byte);
    turkish.or_else(|| {
        u8::try_from(u32::from(c))
            .ok()
            .filter(|byte| TURKISH.iter().all(|(known, _)| known != byte))
    })
}

fn from_upper_half(byte: u8, upper: &str) -> Option<char> {
    if byte.is_ascii() {
        Some(byte.into())
    } else {
        upper.chars().nth(usize::from(byte - 128))
    }
}

fn to_upper_half(c: char, upper: &str) -> Option<u8> {
    if c.is_ascii() {
        return u8::try_from(u32::from(c)).ok();
    }
    place(c, upper).map(|at| at + 128)
}

fn place(c: char, all: &str) -> Option<u8> {
    all.chars()
        .position(|known| known == c)
        .and_then(|at| u8::try_from(at).ok())
}

const CP437: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP850: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈıÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
const CP852: &str = "\
    ÇüéâäůćçłëŐőîŹÄĆÉĹĺôöĽľŚśÖÜŤťŁ×čáíóúĄąŽžĘę¬źČş«»░▒▓│┤ÁÂĚŞ╣║╗╝Żż┐\
    └┴┬├─┼Ăă╚╔╩╦╠═╬¤đĐĎËďŇÍÎě┘┌█▄ŢŮ▀ÓßÔŃńňŠšŔÚŕŰýÝţ´\u{ad}˝˛ˇ˘§÷¸°¨˙űŘř■\u{a0}";
const CP855: &str = "\
    ђЂѓЃёЁєЄѕЅіІїЇјЈљЉњЊћЋќЌўЎџЏюЮъЪаАбБцЦдДеЕфФгГ«»░▒▓│┤хХиИ╣║╗╝йЙ┐\
    └┴┬├─┼кК╚╔╩╦╠═╬¤лЛмМнНоОп┘┌█▄Пя▀ЯрРсСтТуУжЖвВьЬ№\u{ad}ыЫзЗшШэЭщЩчЧ§■\u{a0}";
const CP858: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø×ƒáíóúñÑªº¿®¬½¼¡«»░▒▓│┤ÁÂÀ©╣║╗╝¢¥┐\
    └┴┬├─┼ãÃ╚╔╩╦╠═╬¤ðÐÊËÈ€ÍÎÏ┘┌█▄¦Ì▀ÓßÔÒõÕµþÞÚÛÙýÝ¯´\u{ad}±‗¾¶§÷¸°¨·¹³²■\u{a0}";
const CP860: &str = "\
    ÇüéâãàÁçêÊèÍÔìÃÂÉÀÈôõòÚùÌÕÜ¢£Ù₧ÓáíóúñÑªº¿Ò¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP862: &str = "\
    אבגדהוזחטיךכלםמןנסעףפץצקרשת¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP863: &str = "\
    ÇüéâÂà¶çêëèïî‗À§ÉÈÊôËÏûù¤ÔÜ¢£ÙÛƒ¦´óú¨¸³¯Î⌐¬½¼¾«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP865: &str = "\
    ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜø£Ø₧ƒáíóúñÑªº¿⌐¬½¼¡«¤░▒▓│┤╡╢╖╕╣║╗╝╜╛┐\
    └┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{a0}";
const CP037: &str = "\
    \u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a}\
    \u{20}\u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"\
    Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×\
    {ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";
const CP1140: &str = "\
    \u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a}\
    \u{20}\u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);¬-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"\
    Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ€µ~stuvwxyz¡¿ÐÝÞ®^£¥·©§¶¼½¾[]¯¨´×\
    {ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";
const CP1047: &str = "\
    \u{0}\u{1}\u{2}\u{3}\u{9c}\u{9}\u{86}\u{7f}\u{97}\u{8d}\u{8e}\u{b}\u{c}\u{d}\u{e}\u{f}\u{10}\u{11}\u{12}\u{13}\u{9d}\u{85}\u{8}\u{87}\u{18}\u{19}\u{92}\u{8f}\u{1c}\u{1d}\u{1e}\u{1f}\u{80}\u{81}\u{82}\u{83}\u{84}\u{a}\u{17}\u{1b}\u{88}\u{89}\u{8a}\u{8b}\u{8c}\u{5}\u{6}\u{7}\u{90}\u{91}\u{16}\u{93}\u{94}\u{95}\u{96}\u{4}\u{98}\u{99}\u{9a}\u{9b}\u{14}\u{15}\u{9e}\u{1a}\
    \u{20}\u{a0}âäàáãåçñ¢.<(+|&éêëèíîïìß!$*);^-/ÂÄÀÁÃÅÇÑ¦,%_>?øÉÊËÈÍÎÏÌ`:#@'=\"\
    Øabcdefghi«»ðýþ±°jklmnopqrªºæ¸Æ¤µ~stuvwxyz¡¿Ð[Þ®¬£¥·©§¶¼½¾Ý¨¯]´×\
    {ABCDEFGHI\u{ad}ôöòóõ}JKLMNOPQR¹ûüùúÿ\\÷STUVWXYZ²ÔÖÒÓÕ0123456789³ÛÜÙÚ\u{9f}";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back() {
        let check = |name: &str, text: &str, bytes: &[u8]| {
            let charset = Charset::find(name).expect(name);
            assert_eq!(charset.encode(text).as_deref(), Some(bytes), "{name}");
            assert_eq!(charset.decode(bytes).as_deref(), Some(text), "{name}");
        };
        check("UTF-8", "é", b"\xc3\xa9");
        check("latin1", "é", b"\xe9");
        check("ISO-8859-9", "Ğé", b"\xd0\xe9");
        check("cp437", "é░", b"\x82\xb0");
        check("HZ-GB-2312", "a中文~b", b"a~{VPND~}~~b");
        check("IBM037", "a1", b"\x81\xf1");
        check("cp850", "ð ", b"\xd0 ");
        check("windows-1252", "€", b"\x80");
        check("Shift_JIS", "日本", b"\x93\xfa\x96\x7b");
        check("UTF-16", "a", b"\xfe\xff\0a");
        check("UTF-16LE", "👍", b"\x3d\xd8\x4d\xdc");
        for upper in [CP437, CP850, CP852, CP855, CP858, CP860, CP862, CP863, CP865] {
            assert_eq!(upper.chars().count(), 128);
        }
    }

    #[test]
    fn nothing_is_replaced() {
        let find = |name: &str| Charset::find(name).expect(name);
        assert_eq!(find("us-ascii").encode("é"), None);
        assert_eq!(find("windows-1252").decode(b"\x81"), None);
        assert_eq!(find("iso-8859-15").decode(b"\x82"), None);
        assert_eq!(find("latin1").encode("€"), None);
        assert_eq!(find("iso-8859-9").encode("Ð"), None);
        assert_eq!(find("big5").encode("é"), None);
        assert_eq!(find("utf-16le").decode(b"a"), None);
        assert_eq!(find("utf-16le").decode(b"\x3d\xd8"), None);
        assert_eq!(find("utf-8").decode(b"\xe9"), None);
        assert!(Charset::find("utf-32").is_none());
    }
}
