/// Removes secrets and control characters from all text for people: descriptions, logs, errors, cURL commands.
///
/// It works on bytes, since Swift's search for characters takes quadratic time on some texts, and these texts come from
/// servers. It finds a secret in any escaped form: it searches the original text and the text after each layer of
/// escapes that can be removed, and masks what it finds at its place in the original text.
package struct Redactor: Sendable {
    /// The text that replaces a secret.
    package static let mask = "‹redacted›"
    /// A redactor that knows the well-known secret names.
    package static let standard = Redactor()

    let names: SecretNames
    private let secrets: [KnownSecret]
    /// The greatest length of a secret in a text: six characters for each byte, and these escaped again.
    private let reach: Int

    /// Creates a redactor that hides values with these names, and these known secrets.
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

    /// Returns the text, safe to show.
    package func text(_ text: String) -> String { masked(text).printable }

    /// Returns whether the value of a member of a JSON object is secret.
    package func isSecret(member name: String) -> Bool { names.contains(name, in: .member) }

    /// Returns whether the value of a parameter of a query or of a form is secret.
    package func isSecret(parameter name: String) -> Bool { names.contains(name, in: .parameter) }

    /// Returns a query or a form, safe to show.
    func text(ofQuery query: String) -> String { masked(query, isQuery: true).printable }

    /// Returns text that may be a URL, safe to show: without secret parameters, and without a password before the host.
    func text(ofURL text: String) -> String { masked(text, isURL: true).printable }

    /// Returns text that may be a URL without the user name and the password before its host.
    static func withoutUserInfo(_ url: String) -> String {
        let bytes = Array(url.utf8)
        guard let info = NamedSecrets(names: .standard, bytes: bytes).userInfoOfURL() else { return url }
        // With the @ after it.
        return String(decoding: bytes[..<info.lowerBound] + bytes[(info.upperBound + 1)...], as: UTF8.self)
    }

    /// Returns the text without secrets; control characters are kept.
    func masked(_ text: String, isQuery: Bool = false, isURL: Bool = false) -> String {
        let bytes = Array(text.utf8)
        let userInfo = isURL ? NamedSecrets(names: names, bytes: bytes).userInfoOfURL() : nil
        let ranges = secretRanges(in: bytes, isQuery: isQuery) + [userInfo].compactMap(\.self)
        return ranges.isEmpty ? text : masked(bytes[...], without: ranges)
    }

    /// Returns the beginning of a text of any length, safe to show, of at most `length` Unicode scalars, and whether
    /// there is more. The rest is not read.
    func beginning(of text: some Collection<UInt8>, length: Int) -> (text: String, isCut: Bool) {
        let bytes = Array(text.prefix(length * 8 + reach))
        var end = bytes.count
        let goesOn = bytes.count < text.count
        if goesOn {
            // The end of the bytes read may be half a secret, which no search would recognize.
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

    /// Returns the bytes with each range masked. A range that begins in the bytes may end after them.
    private func masked(_ bytes: ArraySlice<UInt8>, without ranges: [Range<Int>]) -> String {
        var shown: [UInt8] = []
        var index = bytes.startIndex
        for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.lowerBound < bytes.endIndex {
            // A range that overlaps a masked one extends that one.
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
