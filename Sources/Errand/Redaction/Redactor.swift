/// Keeps secrets and control characters out of whatever a person reads: descriptions, logs, errors, cURL text.
///
/// It works on bytes, since Swift's search for characters takes time that grows with the square of some texts, and
/// these texts come from servers. A secret is found in whatever form it was escaped: the text is searched as it came
/// and after each layer of escapes that can be taken off it, and what is found is masked where it stands in the text as
/// it came.
struct Redactor: Sendable {
    /// What stands in the place of a secret.
    static let mask = "‹redacted›"
    /// Knows the names that are secret by custom.
    static let standard = Redactor()

    let names: SecretNames
    private let secrets: [KnownSecret]
    /// How long a secret may be in a text: six characters for each byte, and these escaped again.
    private let reach: Int

    /// Hides what has such a name, and the secrets that are known.
    init(_ names: SecretNames = .standard, hiding secrets: some Sequence<String> = []) {
        self.names = names
        let forms = Set(
            secrets.filter { !$0.isEmpty }.flatMap { secret in
                let layers = UnescapedText.layers(of: Array(secret.utf8))
                return [layers[0].bytes, layers[layers.count - 1].bytes]
            })
        self.secrets = forms.map(KnownSecret.init)
        reach = max(256, 12 * (forms.map(\.count).max() ?? 0))
    }

    /// A text as it may be shown.
    func text(_ text: String) -> String { masked(text).printable }

    /// A query or a form as it may be shown.
    func text(ofQuery query: String) -> String { masked(query, isQuery: true).printable }

    /// Something that may be a URL, as it may be shown: neither its secret parameters nor a password before the host.
    func text(ofURL text: String) -> String { masked(text, isURL: true).printable }

    /// A text without its secrets, and its control characters as they are.
    func masked(_ text: String, isQuery: Bool = false, isURL: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let userInfo = isURL ? NamedSecrets(names: names, bytes: bytes).userInfoOfURL() : nil
        let ranges = secretRanges(in: bytes, isQuery: isQuery) + [userInfo].compactMap(\.self)
        return masked(bytes[...], without: ranges)
    }

    /// The beginning of a text of any length as it may be shown, of at most `length` characters of Unicode; and whether
    /// there is more. The rest is not looked at.
    func beginning(of text: some Collection<UInt8>, length: Int) -> (text: String, isCut: Bool) {
        let bytes = Array(text.prefix(length * 8 + reach))
        var end = bytes.count
        let goesOn = bytes.count < text.count
        if goesOn {
            // The end of what was looked at may be half a secret, which nobody would know for one.
            end -= reach
            while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        }
        let all = masked(bytes[..<end], without: secretRanges(in: bytes)).printable.unicodeScalars
        let beginning = all.prefix(length)
        return (String(beginning), goesOn || beginning.endIndex < all.endIndex)
    }

    private func secretRanges(in bytes: [UInt8], isQuery: Bool = false) -> [Range<Int>] {
        UnescapedText.layers(of: bytes).flatMap { layer in
            let named = NamedSecrets(names: names, bytes: layer.bytes, isQuery: isQuery).ranges()
            return (named + secrets.flatMap { $0.ranges(in: layer.bytes) }).map(layer.source)
        }
    }

    /// The bytes with a mask in the place of each range; a range that begins in them may end behind them.
    private func masked(_ bytes: ArraySlice<UInt8>, without ranges: [Range<Int>]) -> String {
        var shown: [UInt8] = []
        var index = bytes.startIndex
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.lowerBound < bytes.endIndex {
            // One that overlaps what has been masked makes that longer.
            if range.lowerBound >= index {
                shown += bytes[index..<range.lowerBound]
                shown += Self.mask.utf8
            }
            index = min(max(index, range.upperBound), bytes.endIndex)
        }
        shown += bytes[index...]
        return String(decoding: shown, as: UTF8.self)
    }
}
